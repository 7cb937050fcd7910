import { authorizedFetch } from './credentials.js'

/** A request that failed; status 0: the app did not respond. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: unknown

  constructor(status: number, code: string, message: string, details?: unknown) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** Longest time of a request, in ms. */
const deadlineMs = 20_000

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json', 'x-requested-with': 'zin-console' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const deadline = AbortSignal.timeout(deadlineMs)
  const init: RequestInit = {
    method,
    headers,
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  const response = await authorizedFetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'UNREACHABLE', deadline.aborted ? 'The app took longer than 20 s' : 'The app does not respond')
  })
  if (response.ok) return (await response.json()) as T
  throw await errorOf(response)
}

export async function errorOf(response: Response): Promise<ApiError> {
  const { code, details, message } = (await response.json().catch(() => ({}))) as { code?: string; message?: string; details?: unknown }
  return new ApiError(response.status, code ?? `HTTP_${response.status}`, message ?? response.statusText, details)
}

/** Saves a file of the app, which a plain link could not fetch with the credential of this tab. */
export async function download(path: string, name: string): Promise<void> {
  const response = await authorizedFetch(path, { headers: { 'x-requested-with': 'zin-console' } })
  if (!response.ok) throw await errorOf(response)
  saveFile(await response.blob(), name)
}

/** Lets the browser save a file of the page. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
