#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dataplane/doorbells.hpp"
#include "dataplane/offer.hpp"
#include "dataplane/peer.hpp"

namespace bowline::dataplane {

/// The application's end of a worker that runs on another thread (dedicated mode): messages go into the peers' send
/// rings and come out of their receive rings, a bell says where there is something new. One ring crossing each way.
///
/// Thread: the application's, one for all calls. The peers are the worker's; only their shared and application-owned
/// parts are touched here.
class RemoteApplication {
public:
    /// The bells outlive it.
    RemoteApplication(std::vector<Peer*> peers, Doorbells& to_worker, Doorbells& from_worker)
        : peers_(std::move(peers)),
          next_message_(peers_.size(), 1),
          in_ready_(peers_.size(), false),
          ready_(peers_.size()),
          reading_(peers_.size()),
          to_worker_(to_worker),
          from_worker_(from_worker) {}

    void begin_stop() { stopping_ = true; }

    Offer offer(PeerIndex index, const std::byte* bytes, std::size_t size, std::uint64_t& number) {
        std::byte* at = nullptr;
        const Offer offer = try_claim(index, size, at);
        if (offer == Offer::accepted) {
            std::copy_n(bytes, size, at);  // of an empty message there may be no address
            number = commit_claim(index, size);
        }
        return offer;
    }
    /// Room for `size` bytes, in the ring or, for a large message, in the peer's buffer for one of these.
    Offer try_claim(PeerIndex index, std::size_t size, std::byte*& at) {
        Peer& peer = *peers_[index];
        if (stopping_) {
            return Offer::closed;
        }
        if (!peer.shared.in_view.load(std::memory_order_relaxed)) {
            return Offer::excluded;
        }
        if (size > peer.shared.message_max.load(std::memory_order_relaxed)) {
            return Offer::too_large;
        }
        if (size <= peer.inbox->message_max()) [[likely]] {
            at = peer.inbox->try_claim(size);
            return at != nullptr ? Offer::accepted : Offer::back_pressured;
        }
        if (peer.shared.large_busy.load(std::memory_order_acquire) || peer.inbox->try_claim(0) == nullptr) {
            return Offer::back_pressured;
        }
        at = peer.storage.large_inbox.bytes().data();
        return Offer::accepted;
    }
    std::uint64_t commit_claim(PeerIndex index, std::size_t size) {
        Peer& peer = *peers_[index];
        if (size <= peer.inbox->message_max()) [[likely]] {
            peer.inbox->commit(size);
        } else {
            peer.shared.large_bytes = static_cast<std::uint32_t>(size);
            peer.shared.large_busy.store(true, std::memory_order_relaxed);
            static_cast<void>(peer.inbox->try_claim(0));
            peer.inbox->commit_large();
        }
        to_worker_.ring(index);
        return next_message_[index]++;
    }
    [[nodiscard]] std::size_t claim_max(PeerIndex index) const {
        return peers_[index]->shared.message_max.load(std::memory_order_relaxed);
    }
    /// The number of the last message accepted for the peer; 0: none.
    [[nodiscard]] std::uint64_t last_message(PeerIndex index) const { return next_message_[index] - 1; }

    /// Hands out at most `limit` messages and events of all peers; see MessageReader. finish_batch() before the next.
    template <typename OnMessage, typename OnEvent>
    std::size_t read(std::size_t limit, OnMessage&& on_message, OnEvent&& on_event) {
        from_worker_.answer([this](PeerIndex index) {
            if (!in_ready_[index]) {
                in_ready_[index] = true;
                ready_[ready_count_++] = index;
            }
        });
        std::size_t count = 0;
        std::size_t kept = 0;
        const std::size_t share = ready_count_ <= 1 ? limit : std::max<std::size_t>(limit / ready_count_, 1);
        for (std::size_t i = 0; i < ready_count_; ++i) {
            const PeerIndex index = ready_[i];
            MessageReader& reader = peers_[index]->reader;
            if (count < limit) {
                reading_[reading_count_++] = index;
                count += reader.read(
                    std::min(share, limit - count),
                    [&](const std::byte* bytes, std::uint32_t size, std::uint64_t number, protocol::Packet* packet) {
                        on_message(index, bytes, size, number, packet);
                    },
                    [&](const PeerEvent& event) { on_event(index, event); });
            }
            if (reader.has_work()) {
                ready_[kept++] = index;
            } else {
                in_ready_[index] = false;
            }
        }
        if (kept > 1 && kept == ready_count_) {
            std::rotate(ready_.begin(), ready_.begin() + 1, ready_.begin() + static_cast<std::ptrdiff_t>(kept));
        }
        ready_count_ = kept;
        return count;
    }
    void finish_batch() {
        for (std::size_t i = 0; i < reading_count_; ++i) {
            peers_[reading_[i]]->reader.finish_batch();
            to_worker_.ring(reading_[i]);  // there is room in the ring again
        }
        reading_count_ = 0;
    }

private:
    std::vector<Peer*> peers_;
    std::vector<std::uint64_t> next_message_;
    std::vector<bool> in_ready_;
    std::vector<PeerIndex> ready_;
    std::size_t ready_count_ = 0;
    std::vector<PeerIndex> reading_;
    std::size_t reading_count_ = 0;
    Doorbells& to_worker_;
    Doorbells& from_worker_;
    bool stopping_ = false;
};

}  // namespace bowline::dataplane
