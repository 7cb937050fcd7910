import { useState } from 'preact/hooks'
import { setQuery } from '../router.js'

const ranges = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const

/** Sets a filter and resets the page and the selected entry. */
export function setFilter(name: string, value: string): void {
  setQuery({ [name]: value, page: undefined, entry: undefined })
}

/** Start of the chosen range in ms since the Unix epoch, or ''. Fixed when the range is chosen, so the request URL stays the same. */
export function useSince(range: string): string {
  const [since, set] = useState({ range, at: Date.now() })
  if (since.range !== range) set({ range, at: Date.now() })
  const length = ranges[range as keyof typeof ranges]
  return length === undefined ? '' : String(since.at - length)
}

/** A text filter, applied on Enter or blur. Keeps the draft when the page re-renders while the user types. */
export function FilterInput(props: {
  readonly name: string
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly maxLength: number
}) {
  const { name, label, placeholder, value, maxLength } = props
  const [draft, setDraft] = useState({ text: value, of: value })
  if (draft.of !== value) setDraft({ text: value, of: value })
  return (
    <label class="grow">
      <span class="visually-hidden">{label}</span>
      <input
        class="input"
        type="search"
        placeholder={placeholder}
        value={draft.text}
        maxLength={maxLength}
        onInput={(event) => setDraft({ text: event.currentTarget.value, of: value })}
        onChange={(event) => setFilter(name, event.currentTarget.value.trim())}
      />
    </label>
  )
}

export function FilterSelect(props: {
  readonly name: string
  readonly label: string
  readonly value: string
  /** Label of the option without a filter. */
  readonly any: string
  readonly options: readonly (readonly [value: string, text: string])[]
}) {
  const { name, label, value, any, options } = props
  return (
    <label>
      <span class="visually-hidden">{label}</span>
      <select class="select" value={value} onChange={(event) => setFilter(name, event.currentTarget.value)}>
        <option value="">{any}</option>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

const rangeOptions = [
  ['hour', 'Last hour'],
  ['day', 'Last 24 hours'],
  ['week', 'Last 7 days'],
] as const satisfies readonly (readonly [keyof typeof ranges, string])[]

/** A select for the range that {@link useSince} reads. */
export function RangeSelect({ value }: { readonly value: string }) {
  return <FilterSelect name="range" label="Range" value={value} any="Any time" options={rangeOptions} />
}
