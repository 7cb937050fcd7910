import { useEffect, useState } from 'preact/hooks'
import type { ConsoleModule } from '../../contract.js'
import { authorizedFetch, deadlineMs } from '../data/credentials.js'
import { messageOf } from '../data/message.js'
import { refreshInterval } from '../data/session.js'
import { Badge, type Tone } from '../ui/badge.js'
import { Card, Page } from '../ui/layout.js'
import { Empty, Loading, Stale } from '../ui/states.js'
import { type Column, Table } from '../ui/table.js'
import { Time } from '../ui/time.js'
import { NeedsAbout } from './attention.js'

export const healthPages: ConsoleModule = () => ({
  pages: [{ path: '/health', title: 'Health', plugin: 'health', nav: { icon: 'health', order: 72, key: 'h' }, view: HealthPage }],
})

type Status = 'pass' | 'warn' | 'fail'

/** The body of `/health/ready` as `application/health+json`. */
interface Readiness {
  readonly status: Status
  readonly output?: string
  readonly checks?: Readonly<Record<string, readonly [Check]>>
}

interface Check {
  readonly componentId: string
  readonly status: Status
  readonly output?: string
  readonly time: string
}

const tones: Readonly<Record<Status, Tone>> = { pass: 'ok', warn: 'warn', fail: 'bad' }

/** The response is 503 while the app is not ready, with the same body. */
function useReadiness(): { readonly data?: Readiness; readonly error?: string; readonly at?: number; readonly reload: () => void } {
  const [held, set] = useState<{ readonly data?: Readiness; readonly error?: string; readonly at?: number }>({})
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    const read = async (): Promise<void> => {
      const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(deadlineMs)])
      try {
        const response = await authorizedFetch('/health/ready', { headers: { accept: 'application/health+json' }, signal })
        set({ data: (await response.json()) as Readiness, at: Date.now() })
      } catch (error) {
        if (!abort.signal.aborted) set((before) => ({ ...before, error: messageOf(error) }))
      }
    }
    void read()
    const timer = setInterval(() => void read(), refreshInterval())
    return () => {
      clearInterval(timer)
      abort.abort()
    }
  }, [turn])
  return { ...held, reload: () => setTurn((number) => number + 1) }
}

const columns: readonly Column<Check>[] = [
  { key: 'check', title: 'Check', cell: ({ componentId }) => componentId, sort: ({ componentId }) => componentId },
  { key: 'status', title: 'State', cell: ({ status }) => <Badge tone={tones[status]}>{status}</Badge>, sort: ({ status }) => status },
  { key: 'output', title: 'Error', cell: ({ output }) => <span title={output ?? ''}>{output ?? '–'}</span>, width: '50%' },
  { key: 'at', title: 'Checked', numeric: true, hideOn: 'phone', cell: ({ time }) => <Time at={time} /> },
]

function HealthPage() {
  const { at, data, error, reload } = useReadiness()
  const words: Readonly<Record<Status, string>> = { pass: 'ready', warn: 'ready, with warnings', fail: 'not ready' }
  return (
    <Page title="Health" badge={data !== undefined && <Badge tone={tones[data.status]}>{words[data.status]}</Badge>}>
      {error !== undefined && <Stale at={at} message={error} retry={reload} />}
      <NeedsAbout subjects={(subject) => /^(app|check|node):/.test(subject)} />
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <Card title={data.output ?? 'Checks'} flush>
          <Table
            label="Health checks"
            columns={columns}
            rows={Object.values(data.checks ?? {}).flat()}
            rowKey={({ componentId }) => componentId}
            sort={{ key: 'status', down: false }}
            empty={<Empty title="No checks" />}
          />
        </Card>
      )}
    </Page>
  )
}
