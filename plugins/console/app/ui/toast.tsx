import { useValue, Value } from '../data/signal.js'
import { Icon } from './icon.js'

interface Toast {
  readonly id: number
  readonly tone: 'ok' | 'bad'
  readonly text: string
  readonly undo?: (() => void) | undefined
}

const toasts = new Value<readonly Toast[]>([])
const mostToasts = 4
const shownMs = 8_000
/** Messages with an Undo button are shown longer. */
const undoShownMs = 30_000
let last = 0

export function toast(tone: Toast['tone'], text: string, undo?: () => void): void {
  const id = ++last
  toasts.set([...toasts.value, { id, tone, text, undo }].slice(-mostToasts))
  if (tone === 'ok') setTimeout(() => dismiss(id), undo === undefined ? shownMs : undoShownMs)
}

function dismiss(id: number): void {
  toasts.set(toasts.value.filter((one) => one.id !== id))
}

/** Success and failure messages; a failure stays until dismissed. */
export function Toasts() {
  const shown = useValue(toasts)
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone, undo }) => (
        <div key={id} class={`toast ${tone}`}>
          <Icon name={tone === 'ok' ? 'check' : 'bad'} />
          <span>{text}</span>
          {undo !== undefined && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                dismiss(id)
                undo()
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="button icon-only" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
