import type { VersionView, WorkerView } from 'zin/plugins/workers'
import { can } from '../../data/session.js'
import { percent } from '../../format.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { ActionButton } from '../../ui/dialog.js'
import { type Column, Table } from '../../ui/table.js'
import { Duration, Time } from '../../ui/time.js'
import type { Counts } from './types.js'
import { act, waiting } from './verbs.js'
import { actsOf, type VersionAct } from './version-acts.js'

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
      width: '34%',
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
            cell: (version: VersionView) => <Acts version={version} worker={worker} canary={canary} done={done} />,
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

function Acts(props: { readonly version: VersionView; readonly worker: WorkerView; readonly canary: boolean; readonly done: () => void }) {
  const { canary, done, version, worker } = props
  const acts = actsOf(version, worker)
  if (acts.length === 0) return null
  if (canary) return <span class="dim">after the canary</span>
  return (
    <>
      {acts.map((one) => (
        <Act key={one.label} act={one} version={version} worker={worker} done={done} />
      ))}
    </>
  )
}

function Act(props: { readonly act: VersionAct; readonly version: VersionView; readonly worker: WorkerView; readonly done: () => void }) {
  const { done, version, worker } = props
  const { label, to } = props.act
  const refused = version.state === 'refused' && to === version.version
  const text =
    to === worker.version
      ? `The rollout of ${worker.desiredVersion} ends. All jobs of ${worker.name} keep running on ${to}.`
      : `All new jobs of ${worker.name} go to ${to}, node by node; jobs running on ${worker.version} finish there.`
  return (
    <ActionButton
      small
      label={label}
      tone={refused ? 'bad' : undefined}
      confirm={{
        title: label === 'Roll back' ? `Roll back to ${to}?` : label === 'Activate' ? `Activate ${to}?` : `Try ${to} again?`,
        text: refused ? `It was refused: ${version.refused?.reason ?? ''} ${text}` : text,
        ...(refused ? { typed: to } : {}),
      }}
      run={() =>
        act(worker.name, `versions/${encodeURIComponent(to)}/activate`, undefined, {
          ...waiting,
          ...(refused ? { force: 'true' } : {}),
        }).finally(done)
      }
    />
  )
}
