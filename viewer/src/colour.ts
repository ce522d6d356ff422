// SPDX-License-Identifier: MIT
// Colours of states: one for each look, and for calls and threads one that their name decides.

export interface Palette {
  back: string;
  panel: string;
  line: string;
  text: string;
  faint: string;
  accent: string;
  lost: string;
  curve: string;
  looks: Record<string, string>;
  isDark: boolean;
}

const LIGHT: Palette = {
  back: "#ffffff",
  panel: "#f5f6f8",
  line: "#e3e6ec",
  text: "#1b1f27",
  faint: "#5b6472",
  accent: "#0a5fc4",
  lost: "#c62828",
  curve: "#8f9bb0",
  looks: {
    running: "#3d9a50",
    waiting: "#e5b02f",
    blocked: "#d9694a",
    asleep: "#d5dae3",
    over: "#b5bcc9",
    idle: "#eceff3",
    interrupt: "#b05fb8",
    life: "#c9d8ee",
    unheld: "#eef0f4",
    queue: "#f0cf7a",
    unknown: "#f4f4f4",
  },
  isDark: false,
};

const DARK: Palette = {
  back: "#14171d",
  panel: "#1b1f27",
  line: "#2a303b",
  text: "#e6e9ef",
  faint: "#9aa4b4",
  accent: "#6cb0ff",
  lost: "#ff6b6b",
  curve: "#65718a",
  looks: {
    running: "#3f8f50",
    waiting: "#b98c1c",
    blocked: "#b5533a",
    asleep: "#333b49",
    over: "#4a5362",
    idle: "#20252e",
    interrupt: "#8e4a97",
    life: "#2c3d57",
    unheld: "#1f242d",
    queue: "#7d6420",
    unknown: "#191c22",
  },
  isDark: true,
};

export function palette(isDark: boolean): Palette {
  return isDark ? DARK : LIGHT;
}

/** A hue of 360, a saturation and a lightness as `#rrggbb`. */
function hex(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  let rgb = 1;
  for (const from of [0, 8, 4]) {
    const at = (from + hue / 30) % 12;
    const part = lightness - reach * Math.max(Math.min(at - 3, 9 - at, 1), -1);
    rgb = rgb * 256 + Math.round(part * 255);
  }
  return `#${rgb.toString(16).slice(1)}`;
}

const byName = new Map<string, string>();

/** The colour of a name: always the same, and not far from the eye's comfort. */
export function named(name: string, isDark: boolean): string {
  const key = `${isDark}${name}`;
  const known = byName.get(key);
  if (known) return known;
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  const hue = (hash >>> 0) % 360;
  const colour = isDark ? hex(hue, 0.38, 0.38) : hex(hue, 0.52, 0.74);
  if (byName.size > 10000) byName.clear();
  byName.set(key, colour);
  return colour;
}

export function colourOf(look: string, name: string, colours: Palette): string {
  return colours.looks[look] ?? named(name, colours.isDark);
}
