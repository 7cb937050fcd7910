import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../data/message.js'
import { useValue, Value } from '../data/signal.js'
import { toast } from './toast.js'

/** What is asked before something is done. */
export interface Question {
  readonly title: string
  readonly text: ComponentChildren
  /** Looked up before it can be confirmed: what would happen, and what has to be typed then. */
  readonly dryRun?: () => Promise<{ readonly text: ComponentChildren; readonly typed?: string | undefined; readonly none?: boolean }>
  /** What has to be typed to go on. */
  readonly typed?: string | undefined
  /** Word on the button. */
  readonly verb: string
  readonly tone?: 'bad' | undefined
  /** Fields of its own. */
  readonly fields?: ComponentChildren
  /** Returns what is said afterwards. */
  readonly run: () => Promise<string | undefined>
}

const question = new Value<Question | undefined>(undefined)

export function ask(next: Question): void {
  question.set(next)
}

export function isAsking(): boolean {
  return question.value !== undefined
}

/** The one dialog of the page, which is modal: the browser keeps the focus in it. */
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
            {problem !== undefined && found === undefined ? 'Not counted' : found === undefined ? 'Counting…' : found.text}
          </div>
        )}
        {wanted !== undefined && found?.none !== true && (
          <label class="field">
            <span>
              Type <b class="mono">{wanted}</b> to go on
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

/** A button that asks first, or acts at once without `question`. */
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
