import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { BootReport } from '../service.js'
import { ApiError, request } from './data/api.js'
import { hasCredential, setCredential } from './data/credentials.js'
import { messageOf } from './data/message.js'
import { session, whenUnauthorized } from './data/session.js'
import { listenToKeys } from './keys.js'
import { loadPages } from './load-pages.js'
import { Shell } from './shell.js'
import { SignIn } from './sign-in.js'
import { applyTheme } from './theme.js'
import { Loading, Problem } from './ui/states.js'

type State =
  | { readonly kind: 'starting' | 'ready' }
  | { readonly kind: 'sign in'; readonly problem: string | undefined; readonly attempt: number }
  | { readonly kind: 'failed'; readonly error: ApiError }

/** How often a caller whose credential covers queues only is checked again after a 401, in ms. */
const askAgainMs = 5_000

function App() {
  const [state, set] = useState<State>({ kind: 'starting' })
  const attempts = useRef(0)
  const start = async (): Promise<void> => {
    try {
      const first = session.value === undefined
      session.set(await request<BootReport>('GET', '/api/console/boot'))
      if (first) await loadPages()
      set({ kind: 'ready' })
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError(0, 'CONSOLE_FAILED', messageOf(error))
      if (known.status !== 401) set({ kind: 'failed', error: known })
      else {
        // A session that has ended says so.
        const ended = session.value === undefined ? '' : 'Your session has ended; sign in again. '
        const problem = hasCredential() || ended !== '' ? `${ended}${known.message}` : undefined
        setCredential(undefined)
        set({ kind: 'sign in', problem, attempt: ++attempts.current })
      }
    }
  }
  useEffect(() => {
    // Credentials for queues only get a 401 from other APIs; the caller is still signed in, unless the console refuses them, too.
    let asked = Number.NEGATIVE_INFINITY
    whenUnauthorized(() => {
      if (session.value?.may.operate === false && performance.now() - asked < askAgainMs) return
      asked = performance.now()
      void start()
    })
    void start()
  }, [])
  if (state.kind === 'ready') return <Shell />
  // A new form for each attempt: the same problem may occur twice.
  if (state.kind === 'sign in') return <SignIn key={state.attempt} problem={state.problem} done={() => void start()} />
  return (
    <main class="starting">
      <h1 class="visually-hidden">Console</h1>
      {state.kind === 'failed' ? <Problem error={state.error} retry={() => void start()} /> : <Loading />}
    </main>
  )
}

applyTheme()
listenToKeys()
const place = document.getElementById('app')
if (place !== null) {
  place.replaceChildren()
  render(<App />, place)
}
