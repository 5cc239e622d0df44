#include "dataplane/dpdk/eal.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <unistd.h>

#include "dataplane/dpdk/device_check.hpp"
#include "dataplane/dpdk/dpdk_log.hpp"
#include "dataplane/dpdk/hugepage_info.hpp"

namespace bowline::dataplane::dpdk {
namespace {

constexpr std::uint32_t kDefaultMemoryMb = 256;   // without hugepages: reserved as addresses, used as needed
constexpr std::uint32_t kLeastHugeMemoryMb = 64;  // with: below this nothing useful starts
constexpr const char* kMendHugepages = "reserve some with 'hugepage-setup/hugepage-setup --apply'";

struct Process {
    std::mutex mutex;
    std::atomic<bool> running = false;
    bool has_files = false;  // that rte_eal_cleanup() removes
    bool spent = false;      // started once, and stopped: DPDK cannot again
    EalInfo info;
    std::vector<std::string> arguments;  // EAL keeps pointers into them
    std::vector<char*> argv;
};

Process& process() {
    static Process* p = new Process;  // never destroyed: EAL's own threads may outlive static destruction
    return *p;
}

std::string cpus_allowed() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::string list;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) {
                list += (list.empty() ? "" : ",") + std::to_string(cpu);
            }
        }
    }
    return list.empty() ? "0" : list;
}

/// Ordinary pages or hugepages, and what to tell the user about it.
struct PageChoice {
    bool hugepages = false;
    std::string warning;
    std::string refusal;
};

PageChoice choose_pages(const EalOptions& options) {
    if (options.hugepages == EalOptions::Hugepages::off) {
        return {};
    }
    const std::uint64_t needed = std::uint64_t{std::max(options.memory_mb, kLeastHugeMemoryMb)} << 20U;
    const std::uint64_t available = hugepage_bytes_available();
    std::string trouble;
    if (available < needed) {
        trouble = std::to_string(needed >> 20U) + " MB of hugepages are needed and " +
                  std::to_string(available >> 20U) + " MB are free";
    } else {
        std::string why_not;
        if (can_map_hugepage(why_not)) {
            return {.hugepages = true, .warning = {}, .refusal = {}};
        }
        trouble = "hugepages cannot be mapped (" + why_not + ")";
    }
    if (options.hugepages == EalOptions::Hugepages::on) {
        return {.hugepages = false,
                .warning = {},
                .refusal = trouble + ": " + kMendHugepages + ", or use hugepages = \"auto\""};
    }
    return {.hugepages = false,
            .warning = "running without hugepages: " + trouble +
                       ". Costs some tenths of a microsecond a round trip and "
                       "rate under load, and rules out PCI devices without an IOMMU; " +
                       kMendHugepages,
            .refusal = {}};
}

/// A run directory that this user may make: EAL wants one even when it writes nothing there. Its default under /tmp is
/// whoever's that came first.
class RuntimeDirectory {
public:
    RuntimeDirectory() {
        if (geteuid() == 0 || std::getenv("XDG_RUNTIME_DIR") != nullptr) {
            return;
        }
        std::string path = (std::filesystem::temp_directory_path() / "bowline-XXXXXX").string();
        if (mkdtemp(path.data()) != nullptr) {
            path_ = path;
            setenv("XDG_RUNTIME_DIR", path_.c_str(), 1);
        }
    }
    ~RuntimeDirectory() {
        if (!path_.empty()) {
            unsetenv("XDG_RUNTIME_DIR");
            std::error_code ignored;
            std::filesystem::remove_all(path_, ignored);
        }
    }
    RuntimeDirectory(const RuntimeDirectory&) = delete;
    RuntimeDirectory& operator=(const RuntimeDirectory&) = delete;

private:
    std::string path_;
};

std::string shell_line(const std::vector<std::string>& arguments) {
    std::string line;
    for (const std::string& argument : arguments) {
        const bool plain = argument.find_first_of(" \t'\"\\$`(){}[]*?;&|<>") == std::string::npos;
        line += (line.empty() ? "" : " ") + (plain ? argument : "'" + argument + "'");
    }
    return line;
}

/// What the captured log says of the cause, in words that lead on.
std::string mend(const std::string& log, int error, bool hugepages) {
    const auto said = [&log](const char* text) { return log.find(text) != std::string::npos; };
    if (hugepages && (error == ENOMEM || said("hugepage") || said("Cannot allocate memory"))) {
        return std::string("not enough hugepages: ") + kMendHugepages + ", or use hugepages = \"off\"";
    }
    if (error == ENOMEM || said("Cannot allocate memory")) {
        return "not enough memory: lower memory_mb, or raise the limit (ulimit -v, the container's)";
    }
    if (error == EACCES || error == EPERM || said("Permission denied")) {
        return "a privilege is missing: run as root, or give this user access to what the log names";
    }
    return "see DPDK's words before this";
}

unsigned dpdk_level(EalOptions::LogLevel level) {
    switch (level) {
        case EalOptions::LogLevel::error:
            return RTE_LOG_ERR;
        case EalOptions::LogLevel::warning:
            return RTE_LOG_WARNING;
        case EalOptions::LogLevel::info:
            return RTE_LOG_INFO;
        case EalOptions::LogLevel::debug:
            return RTE_LOG_DEBUG;
    }
    return RTE_LOG_WARNING;
}

}  // namespace

std::vector<std::string> eal_arguments(const EalOptions& options, std::span<const DeviceSpec> devices,
                                       bool use_hugepages) {
    std::vector<std::string> args{"bowline"};  // argv[0], which EAL skips
    const bool any_mac = std::ranges::any_of(devices, [](const DeviceSpec& d) { return d.kind == DeviceKind::mac; });
    const bool any_pci = std::ranges::any_of(devices, &DeviceSpec::on_pci);
    args.push_back("--lcores=0@(" + (options.cpu >= 0 ? std::to_string(options.cpu) : cpus_allowed()) + ")");
    if (options.in_memory) {
        // EAL knows --in-memory with hugepages only; without, no other files than the shared configuration are made.
        args.emplace_back(use_hugepages ? "--in-memory" : "--no-shconf");
    } else if (!options.file_prefix.empty()) {
        args.push_back("--file-prefix=" + options.file_prefix);
    }
    args.emplace_back("--no-telemetry");
    if (use_hugepages) {
        if (options.memory_mb != 0) {
            args.insert(args.end(), {"-m", std::to_string(options.memory_mb)});
        }
        // A memif hands its memory to its peer by file, one for all of it (zero-copy=yes needs that).
        args.emplace_back("--single-file-segments");
    } else {
        args.emplace_back("--no-huge");
        args.insert(args.end(), {"-m", std::to_string(options.memory_mb != 0 ? options.memory_mb : kDefaultMemoryMb)});
    }
    if (!any_pci) {
        args.insert(args.end(), {"--no-pci", "--iova-mode=va"});
    } else if (!any_mac) {
        for (const DeviceSpec& device : devices) {
            if (device.kind == DeviceKind::pci) {
                std::string allowed = device.target;
                for (const auto& [key, value] : device.options) {
                    allowed += "," + key + "=" + value;
                }
                args.insert(args.end(), {"-a", allowed});
            }
        }
    }
    args.insert(args.end(), options.extra_args.begin(), options.extra_args.end());
    return args;
}

Result<EalInfo> start_eal(const EalOptions& options, std::span<const DeviceSpec> devices) {
    Process& p = process();
    const std::lock_guard lock(p.mutex);
    if (p.running) {
        return p.info;
    }
    if (p.spent) {
        return Error{Error::Kind::misuse,
                     "DPDK was stopped in this process and cannot be started again: use a new one"};
    }
    for (const DeviceSpec& device : devices) {
        // Better said before DPDK is spent, and in words of our own.
        if (auto checked = check_device(device, 0); !checked) {
            return checked.error();
        }
    }
    PageChoice pages = choose_pages(options);
    if (!pages.refusal.empty()) {
        return Error{Error::Kind::system, pages.refusal};
    }
    p.arguments = eal_arguments(options, devices, pages.hugepages);
    p.argv.clear();
    for (std::string& argument : p.arguments) {
        p.argv.push_back(argument.data());
    }
    p.argv.push_back(nullptr);
    p.info = EalInfo{.hugepages = pages.hugepages, .line = shell_line(p.arguments), .warnings = {}};
    if (!pages.warning.empty()) {
        p.info.warnings.push_back(std::move(pages.warning));
    }

    install_dpdk_log();
    int result = 0;
    int error = 0;
    std::string log;
    {
        const RuntimeDirectory directory;
        const DpdkLogCapture capture;
        // rte_eal_init() pins its caller and makes it an lcore. The application's thread is not ours to do that to: one
        // of our own takes it upon itself and ends.
        std::thread starter([&] {
            result = rte_eal_init(static_cast<int>(p.arguments.size()), p.argv.data());
            error = rte_errno;
        });
        starter.join();
        log = DpdkLogCapture::text();
    }
    p.spent = true;
    if (result < 0) {
        return Error{Error::Kind::system, "DPDK did not start: " + (log.empty() ? std::strerror(error) : log) + ": " +
                                              mend(log, error, pages.hugepages) + " [" + p.info.line + "]"};
    }
    set_dpdk_log_level(dpdk_level(options.log_level));
    p.has_files = !options.in_memory;
    p.running = true;
    return p.info;
}

void stop_eal() {
    Process& p = process();
    const std::lock_guard lock(p.mutex);
    if (p.running) {
        p.running = false;
        // The packet pools have gone with their devices, and in memory alone there are no files to remove: what is left
        // of EAL goes with the process. rte_eal_cleanup() would unmap memory that DPDK's interrupt thread, which it
        // never ends, still looks at.
        if (p.has_files) {
            const DpdkLogCapture capture;
            rte_eal_cleanup();
        }
    }
}

bool eal_running() { return process().running; }

WorkerThread::WorkerThread() {
    if (!eal_running()) {
        return;
    }
    if (rte_lcore_id() == LCORE_ID_ANY) {
        const DpdkLogCapture capture;
        registered_ = rte_thread_register() == 0;
    }
    cached_ = rte_lcore_id() != LCORE_ID_ANY;
}

WorkerThread::~WorkerThread() {
    if (registered_ && eal_running()) {
        rte_thread_unregister();
    }
}

}  // namespace bowline::dataplane::dpdk
