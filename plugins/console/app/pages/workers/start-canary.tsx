import type { VersionView } from 'zin/plugins/workers'
import { can } from '../../data/session.js'
import { ask } from '../../ui/dialog.js'
import { act } from './verbs.js'

const minuteMs = 60_000

/** Starts a canary of one of the registered versions that are not active. */
export function StartCanary(props: { readonly worker: string; readonly versions: readonly VersionView[]; readonly done: () => void }) {
  const { done, versions, worker } = props
  const candidates = versions.filter(({ state }) => state !== 'active' && state !== 'activating')
  if (!can('operate') || candidates.length === 0) return null
  const start = (): void => {
    // Read on confirmation; the inputs are uncontrolled.
    const wanted = { version: candidates[0]?.version ?? '', share: 20, minutes: 60 }
    ask({
      title: `Start a canary of ${worker}`,
      text: 'The version receives a growing share of the jobs, is compared with the active version, and is rolled back automatically if it is worse.',
      verb: 'Start',
      fields: (
        <>
          <label class="field">
            <span>Version</span>
            <select
              class="select mono"
              onChange={(event) => {
                wanted.version = event.currentTarget.value
              }}
            >
              {candidates.map(({ description, state, version }) => (
                <option key={version} value={version}>
                  {[version, description, state === 'refused' ? '(refused)' : ''].filter((part) => part !== '').join(' ')}
                </option>
              ))}
            </select>
          </label>
          <NumberField
            label="Largest share of the jobs, %"
            least={1}
            most={100}
            value={wanted.share}
            set={(next) => (wanted.share = next)}
          />
          <NumberField
            label="Total duration, minutes"
            least={1}
            most={43_200}
            value={wanted.minutes}
            set={(next) => (wanted.minutes = next)}
          />
        </>
      ),
      run: () =>
        act(worker, 'canary/start', {
          newVersion: wanted.version,
          trafficPercentage: wanted.share,
          duration: wanted.minutes * minuteMs,
        }).finally(done),
    })
  }
  return (
    <button type="button" class="button" onClick={start}>
      Start canary
    </button>
  )
}

interface NumberFieldProps {
  readonly label: string
  readonly least: number
  readonly most: number
  readonly value: number
  readonly set: (next: number) => void
}

function NumberField({ label, least, most, set, value }: NumberFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        type="number"
        min={least}
        max={most}
        step="1"
        required
        defaultValue={String(value)}
        onInput={(event) => set(event.currentTarget.valueAsNumber)}
      />
    </label>
  )
}
