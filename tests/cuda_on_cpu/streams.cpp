// Streams: queues whose work runs as late as CUDA allows, when something waits for it. Without a seed only what is
// waited for runs; with one, work of all streams in a random order that keeps streams in order and heeds events.
#include "device.h"

#include <chrono>
#include <vector>

namespace device {

std::mutex lock;
std::set<Stream*> streams;
static std::condition_variable host_function_ended;

static double now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(time).count();
}

Stream* new_stream(Device& device, bool blocking) {
    auto* stream = new Stream{&device, blocking, {}};
    streams.insert(stream);
    return stream;
}

void enqueue(Stream& stream, Work work) {
    static uint64_t next = 0;
    work.number = next++;
    if (work.reaches) work.reaches->stream = &stream;
    stream.queue.push_back(std::move(work));
}

// The stream that must get on before this one can; itself if it can. Work waits only for work queued earlier, so
// this ends.
static Stream& blocker(Stream& stream) {
    const Work& work = stream.queue.front();
    if (work.needs && !work.needs->reached) return blocker(*work.needs->stream);
    if (stream.blocking) {
        for (Stream* other : streams) {
            // Blocking streams and the legacy stream of a device wait for each other.
            const bool ordered = other->device == stream.device && other->blocking &&
                                 (other == stream.device->legacy) != (&stream == stream.device->legacy);
            if (ordered && !other->queue.empty() && other->queue.front().number < work.number) return blocker(*other);
        }
    }
    return stream;
}

static void finish(Stream& stream, int error) {
    // A host function may have called back, and the queue may have been dropped.
    if (!stream.queue.empty()) {
        if (auto& mark = stream.queue.front().reaches) mark->reached = true, mark->milliseconds = now();
        stream.queue.pop_front();
    }
    if (error && !stream.device->error) {
        stream.device->error = error;
        drop_work(*stream.device);
    }
}

static void run_front(Stream& stream, Held& held) {
    Work& work = stream.queue.front();
    if (!work.of_host) return finish(stream, work.run ? work.run() : 0);
    // Without the lock: another thread may hold what this function wants, and want the lock.
    stream.busy = true;
    held.unlock();
    const int error = work.run();
    held.lock();
    stream.busy = false;
    finish(stream, error);
    host_function_ended.notify_all();
}

void run_one(Stream& wanted, Held& held) {
    Stream* chosen = nullptr;
    if (cpu::seed) {
        std::vector<Stream*> able;
        for (Stream* stream : streams) {
            if (!stream->queue.empty() && !stream->busy && &blocker(*stream) == stream) able.push_back(stream);
        }
        if (!able.empty()) chosen = able[cpu::random_below(static_cast<unsigned>(able.size()))];
    } else if (!wanted.queue.empty()) {
        Stream& first = blocker(wanted);
        if (!first.busy) chosen = &first;
    }
    if (chosen) {
        run_front(*chosen, held);
    } else if (!wanted.queue.empty()) {
        host_function_ended.wait(held);
    }
}

void wait_for(Stream& stream, Held& held) {
    if (stream.queue.empty()) return;
    const uint64_t last = stream.queue.back().number;
    while (!stream.queue.empty() && stream.queue.front().number <= last) run_one(stream, held);
}

void wait_for(Mark& mark, Held& held) {
    while (!mark.reached) run_one(*mark.stream, held);
}

void wait_for_all(Device& device, Held& held) {
    for (bool waited = true; waited;) {
        waited = false;
        for (Stream* stream : streams) {
            if (stream->device != &device || stream->queue.empty()) continue;
            wait_for(*stream, held);
            waited = true;
            break;
        }
    }
}

void drop_work(Device& device) {
    for (Stream* stream : streams) {
        if (stream->device != &device) continue;
        for (Work& work : stream->queue) {
            if (work.reaches) work.reaches->reached = true;
        }
        // What runs now without the lock is still looked at when it ends.
        if (!stream->busy) stream->queue.clear();
        else stream->queue.resize(1);
    }
}

}  // namespace device
