import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.js'

export type Tone = 'neutral' | 'ok' | 'info' | 'warn' | 'bad'

const signs: Readonly<Record<Tone, IconName>> = { neutral: 'dot', ok: 'check', info: 'info', warn: 'warn', bad: 'bad' }

/** A word with a sign: colour alone never says anything. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children?: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <Icon name={signs[tone]} />
      <span>{children}</span>
    </span>
  )
}
