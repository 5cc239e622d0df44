#pragma once

#include <string_view>

namespace bowline::sim {

/// While it lives, what an AbortNote says is printed on standard error when an assertion breaks. One at a time.
class AbortNotes {
public:
    AbortNotes();
    ~AbortNotes();
    AbortNotes(const AbortNotes&) = delete;
    AbortNotes& operator=(const AbortNotes&) = delete;
};

/// What to say if an assertion breaks on this thread while it lives: which run that was, and how to have it again. Made
/// before the run, since nothing can be made when it breaks.
class AbortNote {
public:
    explicit AbortNote(std::string_view text);
    ~AbortNote();
    AbortNote(const AbortNote&) = delete;
    AbortNote& operator=(const AbortNote&) = delete;
};

}  // namespace bowline::sim
