#include "sim/scenario_files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "sim/abort_note.hpp"
#include "sim/scenario_parse.hpp"
#include "sim/scenario_run.hpp"

namespace bowline::sim {

namespace {

/// False, with the reason in errno, if it cannot be read.
bool read_file(const std::string& path, std::string& text) {
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) {
        return false;
    }
    std::array<char, 4096> block;
    std::size_t size = 0;
    while ((size = std::fread(block.data(), 1, block.size(), file.get())) > 0) {
        text.append(block.data(), size);
    }
    return std::ferror(file.get()) == 0;
}

}  // namespace

FileResult run_file(const std::string& path, Arena& arena, const Simulation::Trace& trace) {
    std::string text;
    if (!read_file(path, text)) {
        return {.verdict = FileVerdict::unusable,
                .report = fmt::format("{}: cannot read the scenario: {}", path, std::strerror(errno))};
    }
    const ParsedScenario parsed = parse_scenario(text);
    if (parsed.error) {
        return {.verdict = FileVerdict::unusable,
                .report = fmt::format("{}:{}: {}", path, parsed.error->line, parsed.error->text)};
    }
    const AbortNote note(fmt::format("the run of {0} broke an assertion; again: bowline sim {0} --trace\n", path));
    ScenarioOptions options;
    options.trace = trace;
    options.last_lines = trace ? 0 : options.last_lines;
    const ScenarioResult result = run_scenario(parsed.scenario, arena, options);
    return {.verdict = result.ok() ? FileVerdict::ok : FileVerdict::failed, .report = report(path, result)};
}

void run_files(std::span<const std::string> paths, unsigned jobs, const std::function<void(const FileResult&)>& done) {
    const AbortNotes notes;
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, jobs);
    tbb::task_arena task_arena(static_cast<int>(jobs));
    tbb::enumerable_thread_specific<Arena> arenas;
    std::mutex mutex;
    std::vector<std::optional<FileResult>> results(paths.size());
    std::size_t next = 0;
    task_arena.execute([&] {
        tbb::parallel_for(std::size_t{0}, paths.size(), [&](std::size_t i) {
            FileResult result = run_file(paths[i], arenas.local());
            const std::lock_guard lock(mutex);
            results[i] = std::move(result);
            while (next < results.size() && results[next]) {
                done(*results[next++]);
            }
        });
    });
}

}  // namespace bowline::sim
