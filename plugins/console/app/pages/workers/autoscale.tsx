import type { ScalingStatus } from 'zin/plugins/autoscale'
import { duration } from '../../format.js'
import { Facts } from '../../ui/layout.js'
import { Count, Time } from '../../ui/time.js'

/** What the autoscaler decided last, and why. */
export function Autoscale({ status }: { readonly status: ScalingStatus }) {
  const { at, backlog, current, desired, dryRun, queueAgeSeconds, reason } = status
  return (
    <div class="stacked">
      <p>{reason}</p>
      <Facts
        of={[
          ['Runs', current],
          ['Should run', desired],
          ['Ready jobs', <Count key="ready" value={backlog} />],
          ['Oldest waits', queueAgeSeconds === 0 ? '–' : duration(queueAgeSeconds * 1000)],
        ]}
      />
      <p class="dim">
        {dryRun && 'Dry run: nothing is changed. '}Looked <Time at={at} />
      </p>
    </div>
  )
}
