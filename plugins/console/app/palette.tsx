import { useEffect, useRef, useState } from 'preact/hooks'
import { useValue, Value } from './data/signal.js'
import { router } from './router.js'
import { type Hit, searchAll } from './search.js'
import { Icon } from './ui/icon.js'

const isOpen = new Value(false)

export const openPalette = (): void => isOpen.set(true)

/** Search for pages, queues, workers and jobs. */
export function Palette() {
  return useValue(isOpen) ? <Opened close={() => isOpen.set(false)} /> : null
}

/** Debounce: pause in typing before a search starts, in ms. */
const restMs = 250

function Opened({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [hits, setHits] = useState<{ readonly hits: readonly Hit[]; readonly note: string }>({ hits: [], note: '' })
  const [chosen, choose] = useState(0)
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => opener?.isConnected && opener.focus()
  }, [])
  useEffect(() => {
    const abort = new AbortController()
    const show = (found: typeof hits): void => {
      if (abort.signal.aborted) return
      setHits(found)
      choose(0)
    }
    const timer = setTimeout(() => void searchAll(text, abort.signal, show), text === '' ? 0 : restMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return
    close()
    router.go(hit.to)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = hits.hits.length - 1
    if (event.key === 'ArrowDown') choose((now) => Math.min(last, now + 1))
    else if (event.key === 'ArrowUp') choose((now) => Math.max(0, now - 1))
    else if (event.key === 'Enter') open(hits.hits[chosen])
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={dialog} class="dialog palette" aria-label="Search" onClose={close} onCancel={close}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Search pages, queues, workers and jobs"
          aria-expanded="true"
          aria-controls="palette-hits"
          aria-activedescendant={hits.hits.length > 0 ? `hit-${chosen}` : undefined}
          placeholder="Page, queue, worker, job id or error…"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <kbd>esc</kbd>
      </div>
      <div id="palette-hits" class="palette-hits" role="listbox" aria-label="Results">
        {hits.hits.map((hit, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above handles the keys
          <div
            key={`${hit.kind} ${hit.to}`}
            id={`hit-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            class="hit"
            onPointerMove={() => choose(index)}
            onClick={() => open(hit)}
          >
            <span class="hit-title">{hit.title}</span>
            <span class="dim hit-detail">{hit.detail}</span>
            <span class="dim hit-kind">{hit.kind}</span>
          </div>
        ))}
      </div>
      <p class="palette-note dim" role="status">
        {hits.note}
      </p>
    </dialog>
  )
}
