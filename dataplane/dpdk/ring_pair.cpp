#include "dataplane/dpdk/ring_pair.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

namespace bowline::dataplane::dpdk {
namespace {

struct Wire {
    std::array<std::vector<rte_ring*>, 2> towards;  ///< towards end 0, towards end 1; a ring a queue
    std::array<bool, 2> taken{};
    std::uint16_t depth = 0;

    Wire() = default;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    ~Wire() {
        for (auto& rings : towards) {
            for (rte_ring* ring : rings) {
                void* packet = nullptr;
                while (rte_ring_dequeue(ring, &packet) == 0) {
                    rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
                }
                rte_ring_free(ring);
            }
        }
    }
};

std::mutex wires_mutex;

std::map<std::string, std::unique_ptr<Wire>>& wires() {
    static auto* all = new std::map<std::string, std::unique_ptr<Wire>>;
    return *all;
}

Error failed(const std::string& name, const std::string& what) {
    return {Error::Kind::system, "device 'ring:" + name + "': " + what};
}

std::unique_ptr<Wire> make_wire(const std::string& name, std::uint16_t queue_pairs, std::uint16_t depth) {
    auto wire = std::make_unique<Wire>();
    wire->depth = depth;
    for (std::size_t end = 0; end < 2; ++end) {
        for (std::uint16_t queue = 0; queue < queue_pairs; ++queue) {
            const std::string ring_name = "bl_" + name + "_" + std::to_string(end) + "_" + std::to_string(queue);
            rte_ring* ring = rte_ring_create(ring_name.c_str(), depth, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
            if (ring == nullptr) {
                return nullptr;
            }
            wire->towards[end].push_back(ring);
        }
    }
    return wire;
}

}  // namespace

Result<RingEnd> RingEnd::open(const std::string& name, std::uint16_t queue_pairs, std::uint16_t depth_packets) {
    const std::lock_guard lock(wires_mutex);
    auto& wire = wires()[name];
    if (wire == nullptr) {
        wire = make_wire(name, queue_pairs, depth_packets);
        if (wire == nullptr) {
            wires().erase(name);
            return failed(name,
                          std::string("no memory for its rings: ") + rte_strerror(rte_errno) + ": raise memory_mb");
        }
    }
    const std::size_t end = wire->taken[0] ? 1 : 0;
    if (wire->taken[end]) {
        return failed(name, "both its ends are in use in this process: choose another name");
    }
    if (wire->towards[0].size() != queue_pairs) {
        return failed(name, "queue pairs asked for: " + std::to_string(queue_pairs) +
                                ", of the other end: " + std::to_string(wire->towards[0].size()));
    }
    const auto& in = wire->towards[end];
    const auto& out = wire->towards[1 - end];
    const std::string port_name = "bl_" + name + "_" + std::to_string(end);
    const int port = rte_eth_from_rings(port_name.c_str(), in.data(), queue_pairs, out.data(), queue_pairs, 0);
    if (port < 0) {
        return failed(name, std::string("cannot make a port of it: ") + rte_strerror(rte_errno));
    }
    wire->taken[end] = true;
    RingEnd made;
    made.name_ = name;
    made.end_ = static_cast<int>(end);
    made.port_id_ = static_cast<std::uint16_t>(port);
    return made;
}

RingEnd::RingEnd(RingEnd&& other) noexcept
    : name_(std::exchange(other.name_, {})), end_(other.end_), port_id_(other.port_id_) {}

RingEnd& RingEnd::operator=(RingEnd&& other) noexcept {
    if (this != &other) {
        close();
        name_ = std::exchange(other.name_, {});
        end_ = other.end_;
        port_id_ = other.port_id_;
    }
    return *this;
}

void RingEnd::close() {
    if (name_.empty()) {
        return;
    }
    const std::lock_guard lock(wires_mutex);
    const auto found = wires().find(name_);
    if (found != wires().end()) {
        found->second->taken[static_cast<std::size_t>(end_)] = false;
        if (!found->second->taken[0] && !found->second->taken[1]) {
            wires().erase(found);
        }
    }
    name_.clear();
}

}  // namespace bowline::dataplane::dpdk
