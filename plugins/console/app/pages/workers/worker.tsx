import type { ScalingStatus } from 'zin/plugins/autoscale'
import type { DecisionPage } from 'zin/plugins/decisions'
import { failingVersions } from 'zin/plugins/statistics'
import type { HealthTerm, VersionView, WorkerStatus, WorkerView } from 'zin/plugins/workers'
import type { ConsoleData, ConsolePlace } from '../../../contract.js'
import { grouped } from '../../../shared/group.js'
import { isEnabled } from '../../data/session.js'
import { exact, percent, rate } from '../../format.js'
import { path } from '../../router.js'
import { Badge } from '../../ui/badge.js'
import { Icon } from '../../ui/icon.js'
import { Card, Page, Stat } from '../../ui/layout.js'
import { Link } from '../../ui/link.js'
import { Panels } from '../../ui/panels.js'
import { Empty, Loaded } from '../../ui/states.js'
import { Duration } from '../../ui/time.js'
import { Timeline } from '../decisions/timeline.js'
import { Autoscale } from './autoscale.js'
import { Breaker } from './breaker.js'
import { CanaryPanel } from './canary.js'
import { isLive } from './canary-words.js'
import { HealthLedger, healthTone } from './health.js'
import { Nodes } from './nodes.js'
import { recentRate } from './recent-rate.js'
import { StartCanary } from './start-canary.js'
import { stateTone } from './trouble.js'
import type { CircuitResponse, Counts } from './types.js'
import { useWorker, type WorkerData } from './use-worker.js'
import { Verbs } from './verbs.js'
import { VersionCharts } from './version-charts.js'
import { Versions } from './versions.js'

/** The page of a worker: state, versions, canary, nodes and actions. */
export function WorkerPage(place: ConsolePlace) {
  const name = place.params.name ?? ''
  const data = useWorker(name)
  const worker = data.worker.data?.worker
  const badge = worker !== undefined && (
    <Badge tone={stateTone(worker.state, worker.desired)}>{worker.paused && worker.state === 'running' ? 'paused' : worker.state}</Badge>
  )
  return (
    <Page
      title={name}
      parent={{ title: 'Workers', to: '/workers' }}
      badge={badge}
      actions={worker !== undefined && <Verbs worker={worker} done={data.reload} />}
    >
      <Loaded from={data.worker}>{({ worker: found }) => <Content worker={found} data={data} place={place} />}</Loaded>
    </Page>
  )
}

interface ContentProps {
  readonly worker: WorkerView
  readonly data: WorkerData
  readonly place: ConsolePlace
}

function Content({ data, place, worker }: ContentProps) {
  const canary = data.canary.data?.canary
  const on = canary !== undefined && isLive(canary)
  const versions = data.versions.data?.versions ?? []
  const counts = data.counts.data?.counts ?? []
  return (
    <>
      {worker.lastError !== undefined && (
        <p class="stale" role="status">
          <Badge tone="bad">{worker.lastError}</Badge>
        </p>
      )}
      <FailingVersion worker={worker.name} counts={counts} />
      <Figures worker={worker} status={data.status.data?.status} terms={data.health.data?.health.terms ?? []} counts={counts} />
      {on && (
        <Card title="Canary">
          <CanaryPanel canary={canary} queue={worker.queueName} done={data.reload} />
        </Card>
      )}
      <div class="columns wide-first">
        <div>
          <VersionCharts counts={data.counts} />
          <Card title="Nodes" flush aside={<AppliedOn worker={worker} data={data} />}>
            <Loaded from={data.nodes}>{({ nodes }) => <Nodes nodes={nodes} worker={worker} />}</Loaded>
          </Card>
          <Card
            title="Versions"
            flush
            aside={!on && isEnabled('canary') && <CanaryStart worker={worker} versions={versions} data={data} />}
          >
            <Loaded from={data.versions}>
              {() => <Versions worker={worker} versions={versions} counts={byVersion(counts)} canary={on} done={data.reload} />}
            </Loaded>
          </Card>
          {!on && canary !== undefined && (
            <Card title="Last canary">
              <CanaryPanel canary={canary} queue={worker.queueName} done={data.reload} />
            </Card>
          )}
        </div>
        <div>
          {isEnabled('worker-health') && (
            <Card title="Health">
              <Loaded from={data.health}>{({ health }) => <HealthLedger health={health} />}</Loaded>
            </Card>
          )}
          {isEnabled('breaker') && (
            <Card title="Breaker">
              <Loaded from={data.circuit as ConsoleData<CircuitResponse>}>
                {({ circuit }) => <Breaker circuit={circuit} worker={worker.name} done={data.reload} />}
              </Loaded>
            </Card>
          )}
          {isEnabled('autoscale') && (
            <Card title="Autoscale">
              <Scaling on={worker.features.autoScaling === true} from={data.autoscale} />
            </Card>
          )}
          {isEnabled('decisions') && (
            <Card
              title="Latest decisions"
              flush
              aside={
                <Link class="link" to={path`/decisions?subject=worker:${worker.name}`}>
                  All
                </Link>
              }
            >
              <Loaded from={data.decisions}>{(page) => <LastDecisions page={page} />}</Loaded>
            </Card>
          )}
        </div>
      </div>
      <Panels on="worker" place={place} />
    </>
  )
}

/** The version that fails too often, as shown in the overview. */
function FailingVersion({ counts, worker }: { readonly worker: string; readonly counts: readonly Counts[] }) {
  const [found] = failingVersions(byVersion(counts).map((one) => ({ ...one, worker })))
  if (found === undefined) return null
  const { attempts, beside, failed, version } = found
  return (
    <p class="error-line">
      <Icon name="bad" />
      <span>
        Version {version} fails {percent(failed / attempts)} of its attempts: {exact(failed)} of {exact(attempts)} in the last hour
        {beside !== undefined && `; version ${beside.version} fails ${percent(beside.failed / beside.attempts)}`}.
      </span>
    </p>
  )
}

interface FiguresProps {
  readonly worker: WorkerView
  readonly status: WorkerStatus | undefined
  readonly terms: readonly HealthTerm[]
  readonly counts: readonly Counts[]
}

function Figures({ counts, status, terms, worker }: FiguresProps) {
  const worst = [...terms].sort((a, b) => b.penalty - a.penalty)[0]
  const [completed, failed] = [sum(counts, 'completed'), sum(counts, 'failed')]
  const slowest = counts.flatMap(({ p95Ms }) => (p95Ms === null ? [] : [p95Ms]))
  return (
    <div class="stats">
      <Stat
        label="Health"
        value={status === undefined ? '–' : status.health}
        hint={status === undefined || worst === undefined ? 'healthy' : <Badge tone={healthTone(status.health)}>{worst.reason}</Badge>}
      />
      <Stat
        label="Failed, last hour"
        value={completed + failed === 0 ? '–' : percent(failed / (completed + failed))}
        hint={`${failed} of ${completed + failed} attempts`}
        href={path`/queues/${worker.queueName}?state=failed`}
      />
      <Stat
        label="Jobs per second"
        value={rate(recentRate(counts, Date.now()))}
        hint="5-minute average"
        href={path`/queues/${worker.queueName}`}
      />
      <Stat label="p95, worst minute" value={slowest.length === 0 ? '–' : <Duration ms={Math.max(...slowest)} />} hint="last hour" />
      <Stat
        label="Version"
        value={<span class="mono">{worker.version}</span>}
        hint={
          worker.rollout === undefined
            ? 'on all nodes'
            : `${worker.rollout.version} on ${worker.rollout.taken} of ${worker.rollout.of} nodes`
        }
      />
    </div>
  )
}

function sum(counts: readonly Counts[], field: 'completed' | 'failed'): number {
  return counts.reduce((total, one) => total + one[field], 0)
}

/** Sums the counts of all minutes by version, with the highest p95 of any minute. */
function byVersion(counts: readonly Counts[]): readonly Counts[] {
  return [...grouped(counts, ({ version }) => version ?? '')].map(([version, ofVersion]) => {
    const slowest = ofVersion.flatMap(({ p95Ms }) => (p95Ms === null ? [] : [p95Ms]))
    return {
      version,
      completed: sum(ofVersion, 'completed'),
      failed: sum(ofVersion, 'failed'),
      p95Ms: slowest.length === 0 ? null : Math.max(...slowest),
    }
  })
}

function AppliedOn({ data, worker }: { readonly data: WorkerData; readonly worker: WorkerView }) {
  const placed = data.nodes.data?.nodes.filter(({ placed: here }) => here) ?? []
  if (placed.length === 0) return null
  const applied = placed.filter(({ observedGeneration }) => observedGeneration >= worker.generation).length
  return (
    <span class="dim">
      applied on {applied} of {placed.length}
    </span>
  )
}

function CanaryStart({
  data,
  versions,
  worker,
}: {
  readonly worker: WorkerView
  readonly versions: readonly VersionView[]
  readonly data: WorkerData
}) {
  return <StartCanary worker={worker.name} versions={versions} done={data.reload} />
}

function Scaling({ from, on }: { readonly on: boolean; readonly from: ConsoleData<ScalingStatus> }) {
  if (!on) return <p class="dim">Off. To enable it, set features.autoScaling of the worker to true.</p>
  return <Loaded from={from}>{(status) => <Autoscale status={status} />}</Loaded>
}

function LastDecisions({ page: { decisions } }: { readonly page: DecisionPage }) {
  if (decisions.length === 0) return <Empty title="No decisions yet" />
  return <Timeline decisions={decisions} brief />
}
