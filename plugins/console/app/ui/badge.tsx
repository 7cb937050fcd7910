import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.js'

export type Tone = 'neutral' | 'ok' | 'info' | 'warn' | 'bad'

const signs: Readonly<Record<Tone, IconName>> = { neutral: 'dot', ok: 'check', info: 'info', warn: 'warn', bad: 'bad' }

/** A word with an icon, so that meaning never depends on colour alone. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children?: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <Icon name={signs[tone]} />
      <span>{children}</span>
    </span>
  )
}
