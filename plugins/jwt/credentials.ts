import type { Context } from 'koa'
import type { SecurityRequirement } from 'zin'
import { bearerScheme, type Credential, type CredentialKind, type Credentials, type Refused } from './contract.js'
import { jwtErrors } from './errors.js'

type Answer = Credential | Refused | undefined

/** The credentials that `auth` accepts beside the tokens of the app, in order of registration. */
export class AcceptedCredentials implements Credentials {
  #kinds: readonly CredentialKind[] = []

  get isEmpty(): boolean {
    return this.#kinds.length === 0
  }

  /** Any one of these is sufficient. */
  get security(): readonly SecurityRequirement[] {
    return [{ bearer: bearerScheme }, ...this.#kinds.flatMap(({ security }) => (security === undefined ? [] : [security]))]
  }

  accept(kind: CredentialKind): () => void {
    this.#kinds = [...this.#kinds, kind]
    return () => {
      this.#kinds = this.#kinds.filter((one) => one !== kind)
    }
  }

  /** The first credential that a kind finds. Throws UNAUTHORIZED if one refuses it; `undefined` if it is of no kind. */
  async find(ctx: Context, token: string | undefined): Promise<Credential | undefined> {
    for (const kind of this.#kinds) {
      const answer: Answer = await (token === undefined ? kind.fromRequest?.(ctx) : kind.fromToken?.(token, ctx))
      if (answer === undefined) continue
      if ('refused' in answer) throw jwtErrors.UNAUTHORIZED(`${kind.name}: ${answer.refused}`)
      return answer
    }
    return undefined
  }
}
