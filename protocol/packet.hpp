#pragma once

namespace bowline::protocol {

/// A packet buffer as the protocol sees it: an opaque handle that it keeps, passes on and hands back, never looks
/// into. The dataplane's port decides what stands behind it (an rte_mbuf in DpdkPort, a simulated packet in SimPort),
/// so that protocol code compiles without DPDK and still holds the real thing at no cost.
struct Packet;

}  // namespace bowline::protocol
