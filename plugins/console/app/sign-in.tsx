import { useState } from 'preact/hooks'
import { type Credential, logIn, setCredential } from './data/credentials.js'
import { messageOf } from './data/message.js'

type Way = 'basic' | 'key' | 'login'

const ways: readonly { readonly id: Way; readonly title: string }[] = [
  { id: 'basic', title: 'User name and password' },
  { id: 'key', title: 'API key' },
  { id: 'login', title: 'App account' },
]

/** The sign-in form. `problem`: why the last attempt failed. */
export function SignIn({ done, problem }: { readonly done: () => void; readonly problem: string | undefined }) {
  const [way, setWay] = useState<Way>('basic')
  const [name, setName] = useState('')
  const [secret, setSecret] = useState('')
  const [failed, setFailed] = useState(problem)
  const [busy, setBusy] = useState(false)
  const submit = async (): Promise<void> => {
    setBusy(true)
    setFailed(undefined)
    try {
      if (way === 'login') await logIn(name, secret)
      else {
        const credential: Credential = way === 'key' ? { kind: 'key', key: secret } : { kind: 'basic', username: name, password: secret }
        setCredential(credential)
      }
      done()
    } catch (error) {
      setFailed(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <main class="sign-in">
      <h1>Console</h1>
      <p class="dim">This app requires credentials. They are kept until this tab is closed.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <fieldset class="segmented">
          <legend class="visually-hidden">Credentials</legend>
          {ways.map(({ id, title }) => (
            <label key={id}>
              <input type="radio" name="way" checked={way === id} onChange={() => setWay(id)} />
              <span>{title}</span>
            </label>
          ))}
        </fieldset>
        {way !== 'key' && (
          <label class="field">
            <span>{way === 'login' ? 'Email' : 'User name'}</span>
            <input class="input" autocomplete="username" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        )}
        <label class="field">
          <span>{way === 'key' ? 'API key' : 'Password'}</span>
          <input
            class="input"
            type="password"
            autocomplete="current-password"
            required
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </label>
        {failed !== undefined && (
          <p class="form-problem" role="alert">
            {failed}
          </p>
        )}
        <button type="submit" class="button primary" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  )
}
