import { useEffect, useState } from 'preact/hooks'
import { ApiError, request } from '../../data/api.js'
import { messageOf } from '../../data/message.js'
import { can } from '../../data/session.js'
import { useData } from '../../data/use-data.js'
import { exact, plural } from '../../format.js'
import { Badge } from '../../ui/badge.js'
import { Card } from '../../ui/layout.js'
import { Loaded } from '../../ui/states.js'
import { Time } from '../../ui/time.js'
import { toast } from '../../ui/toast.js'
import type { AuditState, Entry, EntryPage } from './types.js'

const pollMs = 1_000
const idleMs = 15_000

/** The result of the last verification of the audit log, and whether the log can be written. */
export function Integrity({ onChange }: { readonly onChange: () => void }) {
  const [asked, setAsked] = useState(false)
  const last = useData<EntryPage>('/api/compliance/audit?action=audit.verify&limit=1')
  const state = useData<AuditState>('/api/compliance/audit/status', { refresh: asked ? pollMs : idleMs })
  const progress = state.data?.verifying ?? undefined
  const verify = async (): Promise<void> => {
    setAsked(true)
    try {
      await request('POST', '/api/compliance/audit/verify')
    } catch (error) {
      // Verifying a long log can exceed the request deadline. The app continues, and the status shows the progress.
      if (error instanceof ApiError && error.status === 0) return
      toast('bad', messageOf(error))
    }
    setAsked(false)
  }
  // Reload when a verification has ended, including one started elsewhere.
  const isRunning = asked || progress !== undefined
  useEffect(() => {
    if (isRunning) return
    last.reload()
    onChange()
  }, [isRunning])
  useEffect(() => {
    if (asked && state.data !== undefined && progress === undefined) setAsked(false)
  }, [asked && state.at])
  const button = can('operate') && (
    <button type="button" class="button" disabled={isRunning} onClick={() => void verify()}>
      {isRunning ? 'Verifying…' : 'Verify'}
    </button>
  )
  return (
    <Card title="Integrity" aside={button}>
      <Loaded from={last}>{({ entries: [entry] }) => <Found entry={entry} />}</Loaded>
      {progress !== undefined && (
        <label class="field">
          <span class="dim">
            {exact(progress.entries)} of {plural(progress.of, 'entry', 'entries')} read
          </span>
          <progress value={progress.entries} max={Math.max(1, progress.of)} />
        </label>
      )}
      {state.data !== undefined && <Writing state={state.data} />}
    </Card>
  )
}

function Found({ entry }: { readonly entry: Entry | undefined }) {
  if (entry === undefined) return <p class="dim">The log has never been verified.</p>
  const isIntact = entry.outcome === 'intact'
  return (
    <p role="status">
      <Badge tone={isIntact ? 'ok' : 'bad'}>{isIntact ? 'intact' : 'changed'}</Badge> {entry.reason?.replace(/^intact: /, '')}{' '}
      <span class="dim">
        (<Time at={entry.at} />, by {entry.actor})
      </span>
    </p>
  )
}

function Writing({ state: { downSince, enabled, unkept, waiting } }: { readonly state: AuditState }) {
  if (!enabled) return <p class="dim">Audit logging is off: WORKER_AUDIT_LOG is false.</p>
  if (downSince !== null) {
    return (
      <p role="alert">
        <Badge tone="bad">unwritable</Badge> Since <Time at={downSince} />. Management actions are refused, and{' '}
        {plural(waiting, 'entry is', 'entries are')} buffered
        {unkept > 0 && `; ${exact(unkept)} could not be buffered`}.
      </p>
    )
  }
  return null
}
