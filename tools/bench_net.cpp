#include "tools/bench_net.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/child_process.hpp"

namespace bowline::tools {

namespace {

constexpr std::chrono::seconds kPatience(20);

}  // namespace

Result<BenchNet> BenchNet::make(const std::string& folder) {
    BenchNet net(fmt::format("bowline-bench-{}", getpid()), folder);
    if (const Result<void> done = net.set_up(); !done) {
        return done.error();
    }
    return net;
}

BenchNet::BenchNet(BenchNet&& other) noexcept
    : name_(std::exchange(other.name_, {})), folder_(std::move(other.folder_)) {}

Result<void> BenchNet::set_up() {
    const std::string a = name_ + "-a";
    const std::string b = name_ + "-b";
    // The kernel's own IPv6 chatter would share the interface; it has no address, so that it answers nothing either.
    const std::string quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 2>/dev/null || true";
    const std::vector<std::vector<std::string>> commands = {
        {"ip", "netns", "add", a},
        {"ip", "netns", "add", b},
        {"ip", "netns", "exec", a, "sh", "-c", quiet},
        {"ip", "netns", "exec", b, "sh", "-c", quiet},
        {"ip", "-n", a, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", b},
        {"ip", "-n", a, "link", "set", "dev", "eth0", "up"},
        {"ip", "-n", b, "link", "set", "dev", "eth0", "up"},
    };
    for (const std::vector<std::string>& command : commands) {
        if (const Result<std::string> done = output_of(command, folder_, kPatience); !done) {
            return done.error();
        }
    }
    return {};
}

BenchNet::~BenchNet() {
    if (!name_.empty()) {
        for (const char* end : {"-a", "-b"}) {
            static_cast<void>(output_of({"ip", "netns", "delete", name_ + end}, folder_, kPatience));
        }
    }
}

}  // namespace bowline::tools
