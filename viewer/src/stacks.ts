// SPDX-License-Identifier: MIT
// The call stacks of an event: addresses of code by the functions that they are in.
//
// Place in the flow: an event's `symbols` (docs/formats/print.md) say what its addresses are called;
// the table of events, what is selected and the place where a lock was taken show them.

import type { EventJson } from "./protocol";

const STACKS = ["user_stack", "kernel_stack", "user_stack_copy"] as const;

/** An address as people write it. */
export function hex(address: unknown): string {
  const text = String(address);
  return /^\d{1,20}$/.test(text) ? `0x${BigInt(text).toString(16)}` : text;
}

/** The frames of a call stack that is a field or a context, the innermost first: functions, and
 * addresses of those that have no name. `null`: the field is no call stack. */
export function framesOf({ symbols }: EventJson, field: string, value: unknown): string[] | null {
  if (!STACKS.some((stack) => stack === field) || !Array.isArray(value)) return null;
  const names = symbols?.[field];
  if (field === "user_stack_copy") {
    if (!Array.isArray(names)) return null;
    const frames = names as { address: unknown; place: unknown }[];
    return frames.map(({ address, place }) => String(place ?? hex(address)));
  }
  const nameOf = (at: number): unknown => (Array.isArray(names) ? (names[at] as unknown) : null);
  return value.map((address, at) => String(nameOf(at) ?? hex(address)));
}

/** The functions of the program that the event was in, the innermost first; nothing, if no stack was
 * recorded. */
export function stackOf(event: EventJson): string[] {
  const all = { ...event.fields, ...event.context };
  const copied = framesOf(event, "user_stack_copy", all["user_stack_copy"] ?? []);
  return copied ?? framesOf(event, "user_stack", all["user_stack"]) ?? [];
}
