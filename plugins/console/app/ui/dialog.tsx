import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../data/message.js'
import { useValue, Value } from '../data/signal.js'
import { toast } from './toast.js'

/** A confirmation that is requested before an action. */
export interface Question {
  readonly title: string
  readonly text: ComponentChildren
  /** Runs before the action can be confirmed: returns its effect, and the text to type, if any. `none`: nothing would change. */
  readonly dryRun?: () => Promise<{ readonly text: ComponentChildren; readonly typed?: string | undefined; readonly none?: boolean }>
  /** Text that must be typed to confirm. */
  readonly typed?: string | undefined
  /** Label of the confirm button. */
  readonly verb: string
  readonly tone?: 'bad' | undefined
  /** Additional form fields. */
  readonly fields?: ComponentChildren
  /** Performs the action; returns the text of the success message, if any. */
  readonly run: () => Promise<string | undefined>
}

const question = new Value<Question | undefined>(undefined)

export function ask(next: Question): void {
  question.set(next)
}

export function isAsking(): boolean {
  return question.value !== undefined
}

/** The confirmation dialog of the page. It is modal, so the browser keeps the focus in it. */
export function QuestionDialog() {
  const asked = useValue(question)
  return asked === undefined ? null : <Asked key={asked.title} asked={asked} close={() => question.set(undefined)} />
}

function Asked({ asked, close }: { readonly asked: Question; readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [found, setFound] = useState<Awaited<ReturnType<NonNullable<Question['dryRun']>>> | undefined>(undefined)
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    asked.dryRun?.().then(setFound, (error: unknown) => setProblem(messageOf(error)))
    return () => opener?.isConnected && opener.focus()
  }, [])
  const wanted = found?.typed ?? asked.typed
  const waits = asked.dryRun !== undefined && found === undefined
  const blocked = busy || waits || found?.none === true || (wanted !== undefined && typed !== wanted)
  const run = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const said = await asked.run()
      close()
      if (said !== undefined) toast('ok', said)
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="question-title" onClose={close} onCancel={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          if (!blocked) void run()
        }}
      >
        <h2 id="question-title">{asked.title}</h2>
        <div class="dialog-text">{asked.text}</div>
        {asked.fields}
        {asked.dryRun !== undefined && (
          <div class="dry-run" role="status">
            {problem !== undefined && found === undefined ? 'Could not count' : found === undefined ? 'Counting…' : found.text}
          </div>
        )}
        {wanted !== undefined && found?.none !== true && (
          <label class="field">
            <span>
              Type <b class="mono">{wanted}</b> to confirm
            </span>
            <input
              class="input mono"
              value={typed}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        {problem !== undefined && (
          <p class="form-problem" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={close}>
            {asked.verb.startsWith('Cancel') ? 'Back' : 'Cancel'}
          </button>
          <button type="submit" class={asked.tone === 'bad' ? 'button danger' : 'button primary'} disabled={blocked}>
            {busy ? 'Working…' : asked.verb}
          </button>
        </div>
      </form>
    </dialog>
  )
}

/** A button that asks for confirmation, or acts at once without `confirm`. */
export function ActionButton(props: {
  readonly label: string
  readonly tone?: 'bad' | undefined
  readonly confirm?: { readonly title: string; readonly text: string; readonly typed?: string } | undefined
  readonly small?: boolean
  readonly run: () => Promise<string | undefined>
}) {
  const { confirm, label, run, small = false, tone } = props
  const [busy, setBusy] = useState(false)
  const act = (): void => {
    if (confirm !== undefined) {
      ask({ ...confirm, verb: label, tone, run })
      return
    }
    setBusy(true)
    run()
      .then(
        (said) => said !== undefined && toast('ok', said),
        (error: unknown) => toast('bad', messageOf(error)),
      )
      .finally(() => setBusy(false))
  }
  return (
    <button type="button" class={`button${small ? ' small' : ''}${tone === 'bad' ? ' danger-quiet' : ''}`} disabled={busy} onClick={act}>
      {label}
    </button>
  )
}
