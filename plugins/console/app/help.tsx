import { useEffect, useRef } from 'preact/hooks'
import { useValue, Value } from './data/signal.js'
import { allBindings, listKeys } from './keys.js'

const isOpen = new Value(false)

export const openHelp = (): void => isOpen.set(true)

const groups = ['Everywhere', 'Go to', 'Page', 'List'] as const

/** The dialog with all shortcuts available now. */
export function KeyHelp() {
  return useValue(isOpen) ? <Opened close={() => isOpen.set(false)} /> : null
}

function Opened({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const keys = [...useValue(allBindings), ...listKeys]
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => opener?.isConnected && opener.focus()
  }, [])
  return (
    <dialog ref={dialog} class="dialog help" aria-labelledby="help-title" onClose={close} onCancel={close}>
      <h2 id="help-title">Keyboard shortcuts</h2>
      <div class="help-groups">
        {groups.map((group) => {
          const mine = keys.filter((one) => one.group === group)
          return mine.length === 0 ? null : (
            <section key={group} aria-label={group}>
              <h3>{group}</h3>
              <dl>
                {mine.map((one) => (
                  <div key={one.keys}>
                    <dt>
                      {one.keys.split(' ').map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{one.title}</dd>
                  </div>
                ))}
              </dl>
            </section>
          )
        })}
      </div>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  )
}
