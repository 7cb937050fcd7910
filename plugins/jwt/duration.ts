const seconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** Whole seconds of `90`, `90s`, `15m`, `12h` or `7d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d{1,10})([smhd]?)$/.exec(text) ?? []
  if (count === undefined) return undefined
  const total = Number(count) * seconds[(unit || 's') as keyof typeof seconds]
  return total > 0 ? total : undefined
}
