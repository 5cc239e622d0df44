#pragma once

namespace bowline::dataplane::dpdk {

/// Keeps DPDK's interrupt thread from running any driver's handler while the object lives and held() is true.
///
/// Drivers' handlers take no notice of other threads. memif's, on its peer's end, unmaps the rings that a worker may be
/// copying from at that moment, and frees twice what Device is freeing. So it runs only when neither can be.
///
/// Thread: control. Made: waits for a handler under way to end, normally some tens of microseconds, and gives up after
/// a tenth of a second. Several may live at once.
class InterruptHold {
public:
    InterruptHold();
    ~InterruptHold();
    InterruptHold(const InterruptHold&) = delete;
    InterruptHold& operator=(const InterruptHold&) = delete;

    [[nodiscard]] bool held() const { return held_; }

private:
    bool held_ = false;
};

}  // namespace bowline::dataplane::dpdk
