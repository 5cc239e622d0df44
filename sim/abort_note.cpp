#include "sim/abort_note.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include <unistd.h>

namespace bowline::sim {

namespace {

struct Note {
    std::array<char, 512> text{};
    std::size_t length = 0;
};
thread_local Note note_of_thread;

void write_note(int signal) {
    // abort() raises it in the thread whose assertion broke.
    if (note_of_thread.length > 0) {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, note_of_thread.text.data(), note_of_thread.length);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

AbortNotes::AbortNotes() { std::signal(SIGABRT, write_note); }
AbortNotes::~AbortNotes() { std::signal(SIGABRT, SIG_DFL); }

AbortNote::AbortNote(std::string_view text) {
    note_of_thread.length = std::min(text.size(), note_of_thread.text.size());
    std::copy_n(text.begin(), note_of_thread.length, note_of_thread.text.begin());
}
AbortNote::~AbortNote() { note_of_thread.length = 0; }

}  // namespace bowline::sim
