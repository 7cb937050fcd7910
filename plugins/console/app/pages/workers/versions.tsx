import type { VersionView, WorkerView } from 'zin/plugins/workers'
import { can } from '../../data/session.js'
import { percent } from '../../format.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { ActionButton } from '../../ui/dialog.js'
import { type Column, Table } from '../../ui/table.js'
import { Duration, Time } from '../../ui/time.js'
import type { Counts } from './types.js'
import { act, waiting } from './verbs.js'

const tones: Readonly<Record<VersionView['state'], Tone>> = {
  registered: 'neutral',
  activating: 'info',
  active: 'ok',
  refused: 'bad',
  draining: 'info',
  drained: 'neutral',
}

interface VersionsProps {
  readonly worker: WorkerView
  readonly versions: readonly VersionView[]
  /** Counts of the last hour, by version. */
  readonly counts: readonly Counts[]
  /** While a canary runs, no version can be activated. */
  readonly canary: boolean
  readonly done: () => void
}

export function Versions({ canary, counts, done, versions, worker }: VersionsProps) {
  const of = (version: string) => counts.find((one) => one.version === version)
  const columns: readonly Column<VersionView>[] = [
    {
      key: 'version',
      title: 'Version',
      cell: ({ description, version }) => (
        <span title={description}>
          <span class="mono">{version}</span> <span class="dim clip">{description}</span>
        </span>
      ),
    },
    {
      key: 'state',
      title: 'State',
      cell: ({ refused, state }) => (
        <span title={refused?.reason}>
          <Badge tone={tones[state]}>{state}</Badge> {refused !== undefined && <span class="dim clip">{refused.reason}</span>}
        </span>
      ),
    },
    { key: 'failed', title: 'Failures, 1 h', numeric: true, cell: ({ version }) => <FailedShare of={of(version)} />, hideOn: 'phone' },
    { key: 'p95', title: 'p95', numeric: true, cell: ({ version }) => <Duration ms={of(version)?.p95Ms} />, hideOn: 'phone' },
    {
      key: 'at',
      title: 'Active since',
      numeric: true,
      cell: ({ activatedAt }) => (activatedAt === null ? <span class="dim">never</span> : <Time at={activatedAt} />),
      hideOn: 'tablet',
    },
    ...(can('operate')
      ? [
          {
            key: 'act',
            title: 'Action',
            cell: (version: VersionView) => <Activate version={version} worker={worker} canary={canary} done={done} />,
          },
        ]
      : []),
  ]
  return <Table label="Versions" columns={columns} rows={versions} rowKey={({ version }) => version} />
}

function FailedShare({ of }: { readonly of: Counts | undefined }) {
  const attempts = of === undefined ? 0 : of.completed + of.failed
  if (of === undefined || attempts === 0) return <span class="dim">–</span>
  return <span title={`${of.failed} of ${attempts} attempts`}>{percent(of.failed / attempts)}</span>
}

function Activate(props: {
  readonly version: VersionView
  readonly worker: WorkerView
  readonly canary: boolean
  readonly done: () => void
}) {
  const { canary, done, version, worker } = props
  if (version.version === worker.desiredVersion && version.state !== 'refused') return null
  if (canary) return <span class="dim">after the canary</span>
  const back = version.activatedAt !== null
  const verb = back ? 'Roll back' : 'Activate'
  const refused = version.state === 'refused'
  const text = `All new jobs of ${worker.name} go to ${version.version}, node by node; jobs running on ${worker.version} finish there.`
  return (
    <ActionButton
      small
      label={verb}
      tone={refused ? 'bad' : undefined}
      confirm={{
        title: `${verb} ${back ? 'to ' : ''}${version.version}?`,
        text: refused ? `It was refused: ${version.refused?.reason ?? ''} ${text}` : text,
        ...(refused ? { typed: version.version } : {}),
      }}
      run={() =>
        act(worker.name, `versions/${encodeURIComponent(version.version)}/activate`, undefined, {
          ...waiting,
          ...(refused ? { force: 'true' } : {}),
        }).finally(done)
      }
    />
  )
}
