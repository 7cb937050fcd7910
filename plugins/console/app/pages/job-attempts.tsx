import type { JobAttempts as Attempts, JobAttempt } from 'zin/plugins/queue-monitor'
import type { ConsoleData } from '../../contract.js'
import { plural } from '../format.js'
import { Badge, type Tone } from '../ui/badge.js'
import { Card } from '../ui/layout.js'
import { Empty, Loaded } from '../ui/states.js'
import { type Column, Table } from '../ui/table.js'
import { Duration, Time } from '../ui/time.js'

const tones: Readonly<Record<string, Tone>> = { completed: 'ok', cancelled: 'neutral' }
const unknown = <span class="dim">–</span>

const columns: readonly Column<JobAttempt>[] = [
  { key: 'attempt', title: 'Attempt', width: '80px', cell: ({ attempt }) => attempt },
  { key: 'outcome', title: 'Outcome', width: '120px', cell: ({ outcome }) => <Badge tone={tones[outcome] ?? 'bad'}>{outcome}</Badge> },
  { key: 'error', title: 'Error', cell: ({ error }) => <span title={error ?? ''}>{error ?? unknown}</span> },
  { key: 'version', title: 'Version', width: '88px', hideOn: 'phone', cell: ({ version }) => version ?? unknown },
  { key: 'node', title: 'Node', width: '176px', hideOn: 'tablet', cell: ({ node }) => <span class="mono">{node ?? unknown}</span> },
  { key: 'waited', title: 'Waited', width: '88px', numeric: true, hideOn: 'phone', cell: ({ waitMs }) => <Duration ms={waitMs} /> },
  { key: 'ran', title: 'Ran', width: '88px', numeric: true, cell: ({ runMs }) => <Duration ms={runMs} /> },
  { key: 'ended', title: 'Ended', width: '120px', numeric: true, hideOn: 'phone', cell: ({ endedAt }) => <Time at={endedAt} /> },
]

/** The finished attempts, with version, node and durations. */
export function JobAttempts({ from }: { readonly from: ConsoleData<Attempts> }) {
  return (
    <Card flush>
      <Loaded from={from}>
        {({ attempts, omitted, total }) => (
          <>
            <Table
              label="Attempts"
              columns={columns}
              rows={attempts}
              rowKey={({ attempt, endedAt }) => `${attempt} ${endedAt}`}
              empty={
                <Empty title="No attempt has finished yet">Finished attempts appear here with their version, node and duration.</Empty>
              }
            />
            {omitted > 0 && (
              <p class="note">
                {plural(omitted, 'attempt')} of {total} not shown: the first 5 and the last 45 are
              </p>
            )}
          </>
        )}
      </Loaded>
    </Card>
  )
}
