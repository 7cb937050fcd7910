import { Value } from './data/signal.js'

export type Theme = 'auto' | 'light' | 'dark'

const place = 'zin-console-theme'
const known: readonly Theme[] = ['auto', 'light', 'dark']

/** The chosen theme; `auto` follows the system. */
export const theme = new Value<Theme>(known.find((one) => one === localStorage.getItem(place)) ?? 'auto')

const system = matchMedia('(prefers-color-scheme: dark)')
/** Whether the system is dark, which `auto` follows. */
export const systemIsDark = new Value(system.matches)
system.addEventListener('change', ({ matches }) => systemIsDark.set(matches))

export function applyTheme(): void {
  const { dataset } = document.documentElement
  if (theme.value === 'auto') delete dataset.theme
  else dataset.theme = theme.value
}

export function nextTheme(): void {
  theme.set(known[(known.indexOf(theme.value) + 1) % known.length] ?? 'auto')
  localStorage.setItem(place, theme.value)
  applyTheme()
}
