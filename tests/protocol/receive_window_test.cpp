#include "protocol/receive_window.hpp"

#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace bowline::protocol {
namespace {

using Place = ReceiveWindow::Place;

struct Window {
    explicit Window(std::uint32_t capacity, Seqno first = Seqno(1)) : bits((capacity + 63) / 64) {
        window.attach(bits, capacity);
        window.jump(first);
    }
    std::vector<std::uint64_t> bits;
    ReceiveWindow window;
};

TEST(ReceiveWindow, TakesWhatFitsAndNamesItsPlace) {
    Window w(4);
    EXPECT_EQ(w.window.place(Seqno(1), 0), Place::in_order);
    EXPECT_EQ(w.window.place(Seqno(4), 0), Place::out_of_order);
    EXPECT_EQ(w.window.place(Seqno(5), 0), Place::beyond);
    EXPECT_EQ(w.window.place(Seqno(0), 0), Place::duplicate);
    w.window.hold(Seqno(4));
    EXPECT_EQ(w.window.place(Seqno(4), 0), Place::duplicate);
    EXPECT_EQ(w.window.position(Seqno(4)), 3U);
}

TEST(ReceiveWindow, PassesWhatWasHeldOnceTheGapCloses) {
    Window w(8);
    w.window.hold(Seqno(2));
    w.window.hold(Seqno(3));
    w.window.hold(Seqno(5));
    w.window.advance();
    EXPECT_EQ(w.window.rcv_nxt(), Seqno(4));
    EXPECT_EQ(w.window.next_position(), 3U);
    EXPECT_EQ(w.window.out_of_order_pkts(), 1U);
}

TEST(ReceiveWindow, IsClosedUntilTheConsumerTakesSomething) {
    Window w(2);
    w.window.advance();
    w.window.advance();
    EXPECT_EQ(w.window.free_pkts(0), 0U);
    EXPECT_EQ(w.window.place(Seqno(3), 0), Place::beyond);
    EXPECT_EQ(w.window.free_pkts(1), 1U);
    EXPECT_EQ(w.window.place(Seqno(3), 1), Place::in_order);
    EXPECT_EQ(w.window.place(Seqno(4), 1), Place::beyond);
}

TEST(ReceiveWindow, JumpMovesTheNumberAndLeavesNoHoleInTheRing) {
    Window w(4);
    w.window.advance();
    w.window.jump(Seqno(100));
    EXPECT_EQ(w.window.position(Seqno(100)), 1U);
    EXPECT_EQ(w.window.place(Seqno(2), 0), Place::duplicate);
}

TEST(ReceiveWindow, SaysNothingWhenNothingIsHeld) {
    Window w(64);
    std::array<std::uint64_t, 4> words{};
    EXPECT_EQ(w.window.sack_words(words), 0U);
}

TEST(ReceiveWindow, SaysOnlyAsMuchAsThereIsRoomFor) {
    Window w(256);
    w.window.hold(Seqno(2));
    w.window.hold(Seqno(200));
    std::array<std::uint64_t, 2> words{};
    EXPECT_EQ(w.window.sack_words(words), 2U);
    EXPECT_EQ(words[0], 1U);
    EXPECT_EQ(words[1], 0U);
}

/// The window by the book: a set of the seqnos that are held, as distances from the first, and the consumer's position.
struct Model {
    std::uint32_t capacity;
    std::uint64_t next = 0;
    std::uint64_t consumed = 0;
    std::set<std::uint64_t> held = {};

    [[nodiscard]] Place place(std::uint64_t n) const {
        if (n < next) {
            return Place::duplicate;
        }
        if (n >= consumed + capacity) {
            return Place::beyond;
        }
        return n == next ? Place::in_order : held.contains(n) ? Place::duplicate : Place::out_of_order;
    }
    void advance() {
        ++next;
        while (held.erase(next) > 0) {
            ++next;
        }
    }
};

void expect_same(const ReceiveWindow& window, const Model& model, Seqno first) {
    window.check_invariants();
    RC_ASSERT(window.rcv_nxt() == first + model.next);
    RC_ASSERT(window.out_of_order_pkts() == model.held.size());
    RC_ASSERT(window.free_pkts(model.consumed) == model.consumed + model.capacity - model.next);

    std::array<std::uint64_t, 9> words{};
    words.fill(0xAAAA'AAAA'AAAA'AAAAULL);
    const std::size_t count = window.sack_words(std::span(words).first(8));
    RC_ASSERT(words[8] == 0xAAAA'AAAA'AAAA'AAAAULL);
    RC_ASSERT(count == (model.held.empty() ? 0 : (*model.held.rbegin() - model.next + 63) / 64));
    std::set<std::uint64_t> said;
    for (std::size_t bit = 0; bit < count * 64; ++bit) {
        if (((words[bit / 64] >> (bit % 64)) & 1U) != 0) {
            said.insert(model.next + 1 + bit);
        }
    }
    RC_ASSERT(said == model.held);
}

TEST(ReceiveWindow, AgreesWithASetWhateverComesIncludingItsSackWords) {
    EXPECT_TRUE(rc::check([] {
        const std::uint32_t capacity = 1U << *rc::gen::inRange(1U, 10U);  // 2 to 512
        const Seqno first(*rc::gen::element<std::uint64_t>(1, 0xFFFF'FFF0ULL, 0xFFFF'FFFF'FFFF'FFF0ULL, 1ULL << 40U));
        Window w(capacity, first);
        Model model{.capacity = capacity};
        const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(600, rc::gen::arbitrary<std::uint32_t>());
        for (const std::uint32_t step : steps) {
            if (step % 16 == 0) {
                model.consumed += (step >> 4U) % (model.next - model.consumed + 1);
            } else if (step % 256 == 1) {
                std::set<std::uint64_t> dropped;
                w.window.drop_out_of_order([&](std::uint64_t position) { dropped.insert(position); });
                RC_ASSERT(dropped == model.held);
                model.held.clear();
            } else {
                // Mostly near rcv_nxt, so that the window moves; sometimes behind it or beyond the ring.
                const std::uint64_t reach = step % 4 == 0 ? 3 : capacity + 4;
                const std::uint64_t n = model.next + (step >> 8U) % reach;
                const std::uint64_t at = n >= 2 ? n - (step >> 6U) % 3 : n;
                const Place place = w.window.place(first + at, model.consumed);
                RC_ASSERT(place == model.place(at));
                if (place == Place::in_order || place == Place::out_of_order) {
                    RC_ASSERT(w.window.position(first + at) == at);
                }
                if (place == Place::in_order) {
                    w.window.advance();
                    model.advance();
                } else if (place == Place::out_of_order) {
                    w.window.hold(first + at);
                    model.held.insert(at);
                }
            }
            expect_same(w.window, model, first);
        }
    }));
}

}  // namespace
}  // namespace bowline::protocol
