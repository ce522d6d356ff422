// SPDX-License-Identifier: MIT
// C++ exceptions and forced unwinding: in threads, out of callbacks that interposed functions
// call, and destructors that run when a thread is cancelled or leaves.
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <future>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

struct Guard {
	const char *name;
	~Guard()
	{
		std::printf("left %s\n", name);
	}
};

static int fds[2];

static void *blocked(void *)
{
	Guard guard{ "blocked" };
	char byte;

	(void)!read(fds[0], &byte, 1);
	return nullptr;
}

static void *leaving(void *)
{
	Guard guard{ "leaving" };

	pthread_exit(nullptr);
}

static ssize_t write_throws(void *, const char *, size_t)
{
	throw std::runtime_error("thrown through fclose");
}

int main()
{
	pthread_t thread;

	if (pipe(fds))
		return 1;
	pthread_create(&thread, nullptr, blocked, nullptr);
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, nullptr);
	pthread_create(&thread, nullptr, leaving, nullptr);
	pthread_join(thread, nullptr);

	auto answer =
		std::async(std::launch::async, []() -> int { throw std::logic_error("async"); });
	try {
		answer.get();
	} catch (const std::logic_error &error) {
		std::printf("caught %s\n", error.what());
	}
	std::thread([] {
		try {
			throw 7;
		} catch (int value) {
			std::printf("caught %d\n", value);
		}
	}).join();

	cookie_io_functions_t functions{};
	functions.write = write_throws;
	FILE *file = fopencookie(nullptr, "w", functions);
	std::setvbuf(file, nullptr, _IONBF, 0);
	try {
		std::fwrite("x", 1, 1, file);
	} catch (const std::runtime_error &error) {
		std::printf("caught %s\n", error.what());
	}
	return 0;
}
