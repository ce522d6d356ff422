// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that go through io_uring's rings. The kernel's own events name the operation too; the
 * function that knows the names is out of a probe's reach, and opcode says the same.
 *
 * Names and fields are those of the kernel's own tracepoints. Paper: O 4.2 (instrumentation).
 */
#include <trace/events/io_uring.h>
#include "events/fields.h"

LULL_KERNEL_EVENT(io_uring, io_uring_create,
		  TP_PROTO(int fd, void *ctx, u32 sq_entries, u32 cq_entries, u32 flags),
		  lull_i32(fd, fd), lull_ptr(ctx, ctx), lull_u32(sq_entries, sq_entries),
		  lull_u32(cq_entries, cq_entries), lull_x32(flags, flags));
LULL_KERNEL_EVENT(io_uring, io_uring_register,
		  TP_PROTO(void *ctx, unsigned opcode, unsigned nr_files, unsigned nr_bufs,
			   long ret),
		  lull_ptr(ctx, ctx), lull_u32(opcode, opcode), lull_u32(nr_files, nr_files),
		  lull_u32(nr_bufs, nr_bufs), lull_i64(ret, ret));
LULL_KERNEL_EVENT(io_uring, io_uring_file_get, TP_PROTO(struct io_kiocb *req, int fd),
		  lull_ptr(ctx, req->ctx), lull_ptr(req, req),
		  lull_u64(user_data, req->cqe.user_data), lull_i32(fd, fd));
LULL_KERNEL_EVENT(io_uring, io_uring_queue_async_work, TP_PROTO(struct io_kiocb *req, int rw),
		  lull_ptr(ctx, req->ctx), lull_ptr(req, req),
		  lull_u64(user_data, req->cqe.user_data), lull_u8(opcode, req->opcode),
		  lull_x64(flags, (u64)req->flags), lull_ptr(work, &req->work), lull_i32(rw, rw));
LULL_KERNEL_EVENT(io_uring, io_uring_defer, TP_PROTO(struct io_kiocb *req), lull_ptr(ctx, req->ctx),
		  lull_ptr(req, req), lull_u64(data, req->cqe.user_data),
		  lull_u8(opcode, req->opcode));
LULL_KERNEL_EVENT(io_uring, io_uring_link,
		  TP_PROTO(struct io_kiocb *req, struct io_kiocb *target_req),
		  lull_ptr(ctx, req->ctx), lull_ptr(req, req), lull_ptr(target_req, target_req));
LULL_KERNEL_EVENT(io_uring, io_uring_cqring_wait, TP_PROTO(void *ctx, int min_events),
		  lull_ptr(ctx, ctx), lull_i32(min_events, min_events));
LULL_KERNEL_EVENT(io_uring, io_uring_fail_link,
		  TP_PROTO(struct io_kiocb *req, struct io_kiocb *link), lull_ptr(ctx, req->ctx),
		  lull_ptr(req, req), lull_u64(user_data, req->cqe.user_data),
		  lull_u8(opcode, req->opcode), lull_ptr(link, link));
LULL_KERNEL_EVENT(io_uring, io_uring_complete,
		  TP_PROTO(void *ctx, void *req, u64 user_data, int res, unsigned cflags,
			   u64 extra1, u64 extra2),
		  lull_ptr(ctx, ctx), lull_ptr(req, req), lull_u64(user_data, user_data),
		  lull_i32(res, res), lull_x32(cflags, cflags), lull_u64(extra1, extra1),
		  lull_u64(extra2, extra2));
#ifdef LULL_HAS_URING_SUBMIT_SQE
LULL_KERNEL_EVENT(io_uring, io_uring_submit_sqe,
		  TP_PROTO(struct io_kiocb *req, bool force_nonblock), lull_ptr(ctx, req->ctx),
		  lull_ptr(req, req), lull_u64(user_data, req->cqe.user_data),
		  lull_u8(opcode, req->opcode), lull_x64(flags, (u64)req->flags),
		  lull_bool(force_nonblock, force_nonblock),
		  lull_bool(sq_thread, req->ctx->flags &IORING_SETUP_SQPOLL));
#endif
LULL_KERNEL_EVENT(io_uring, io_uring_poll_arm, TP_PROTO(struct io_kiocb *req, int mask, int events),
		  lull_ptr(ctx, req->ctx), lull_ptr(req, req),
		  lull_u64(user_data, req->cqe.user_data), lull_u8(opcode, req->opcode),
		  lull_i32(mask, mask), lull_i32(events, events));
LULL_KERNEL_EVENT(io_uring, io_uring_task_add, TP_PROTO(struct io_kiocb *req, int mask),
		  lull_ptr(ctx, req->ctx), lull_ptr(req, req),
		  lull_u64(user_data, req->cqe.user_data), lull_u8(opcode, req->opcode),
		  lull_i32(mask, mask));
LULL_KERNEL_EVENT(io_uring, io_uring_cqe_overflow,
		  TP_PROTO(void *ctx, unsigned long long user_data, s32 res, u32 cflags,
			   void *ocqe),
		  lull_ptr(ctx, ctx), lull_u64(user_data, user_data), lull_i32(res, res),
		  lull_x32(cflags, cflags), lull_ptr(ocqe, ocqe));
LULL_KERNEL_EVENT(io_uring, io_uring_task_work_run, LULL_URING_TASK_WORK, lull_ptr(tctx, tctx),
		  lull_u32(count, count) LULL_URING_TASK_WORK_FIELDS);
LULL_KERNEL_EVENT(io_uring, io_uring_short_write,
		  TP_PROTO(void *ctx, u64 fpos, u64 wanted, u64 got), lull_ptr(ctx, ctx),
		  lull_u64(fpos, fpos), lull_u64(wanted, wanted), lull_u64(got, got));
LULL_KERNEL_EVENT(io_uring, io_uring_local_work_run,
		  TP_PROTO(void *ctx, int count, unsigned int loops), lull_ptr(ctx, ctx),
		  lull_i32(count, count), lull_u32(loops, loops));
