import type { ConsoleIcon } from '../../contract.js'

/** SVG paths of 16 px, drawn with one stroke width. */
const shapes = {
  overview: 'M2.5 2.5h4.5v6h-4.5zM9 2.5h4.5v3.5h-4.5zM9 8h4.5v5.5h-4.5zM2.5 10.5h4.5v3h-4.5z',
  queue: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  worker:
    'M8 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M3.4 12.6l1.4-1.4M11.2 4.8l1.4-1.4',
  clock: 'M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12M8 4.8v3.4l2.2 1.4',
  flow: 'M2 6h3.5v4h-3.5zM10.5 2h3.5v4h-3.5zM10.5 10h3.5v4h-3.5zM5.5 8h2.5M10.5 4h-2.5v8h2.5',
  decision: 'M8 2v12M4 14h8M2 5h12M2 5l-.5 4.5h4l-1-4.5M12 5l-1.5 4.5h4l-1-4.5',
  resource: 'M1.5 8.5h3l2-5l3 9l2-4h3',
  plugin: 'M5 2v3.5M11 2v3.5M3.5 5.5h9v2.5a4.5 4.5 0 0 1-9 0zM8 12.5v2',
  access: 'M5.5 7.5a2.8 2.8 0 1 0 0 .1M8 8h6M12 8v2.5M14 8v2',
  canary: 'M2 13h3v-3h3v-3h3v-3.5h3',
  audit: 'M3.5 2h9v12h-9zM5.8 5.5h4.4M5.8 8h4.4M5.8 10.8l1 1l2-2',
  subject: 'M8 2.5a2.7 2.7 0 1 0 0 5.4a2.7 2.7 0 1 0 0-5.4M2.8 14c.4-3 2.4-4.4 5.2-4.4s4.8 1.4 5.2 4.4',
  health: 'M8 13.5l-5.2-5a3.2 3.2 0 0 1 4.6-4.5l.6.6l.6-.6a3.2 3.2 0 0 1 4.6 4.5z',
  webhook: 'M2 8h7.5M6.5 5l3 3l-3 3M10 2.5h3.5v11h-3.5',
  page: 'M4 2h5.5l2.5 2.5v9.5h-8zM9.5 2v2.5h2.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3l3.7 3.7',
  sun: 'M8 5.3a2.7 2.7 0 1 0 0 5.4a2.7 2.7 0 1 0 0-5.4M8 1.5v1.5M8 13v1.5M1.5 8h1.5M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  moon: 'M13 9.8a5.5 5.5 0 0 1-6.8-6.8a5.5 5.5 0 1 0 6.8 6.8z',
  auto: 'M2 3h12v8h-12zM6 14h4M8 11v3',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.3 1.9c-.8.5-1.1.9-1.1 1.9M8 12.2v.1',
  more: 'M3.5 8v.1M8 8v.1M12.5 8v.1',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3l7.5 5l-7.5 5z',
  check: 'M3 8.5l3.5 3.5l6.5-8',
  warn: 'M8 2.5l6 11h-12zM8 6.5v3.5M8 11.8v.1',
  bad: 'M5 2.5h6l3 3v5l-3 3h-6l-3-3v-5zM8 5v3.5M8 10.8v.1',
  info: 'M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12M8 7.5v3.5M8 5v.1',
  dot: 'M8 6.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3',
  close: 'M4 4l8 8M12 4l-8 8',
  right: 'M6 3.5l4.5 4.5l-4.5 4.5',
  copy: 'M5.5 5.5h8v8h-8zM5.5 10.5h-3v-8h8v3',
} satisfies Record<ConsoleIcon | string, string>

export type IconName = keyof typeof shapes

/** A decorative icon: its meaning is always given as text next to it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  )
}
