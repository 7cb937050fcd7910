/**
 * A message from an app under `zin dev` to the watcher: it has started, with its address and whether that has `/docs`, or it has written a watched
 * file with this text.
 */
export type WatcherMessage =
  | { readonly zin: 'started'; readonly url?: string; readonly docs?: boolean }
  | { readonly zin: 'wrote'; readonly text: string }

/** Sends a message to the watcher, if the app runs under `zin dev`. */
export function tellWatcher(message: WatcherMessage): void {
  if (process.env.ZIN_DEV === '1' && process.connected) process.send?.(message)
}

export function isWatcherMessage(message: unknown): message is WatcherMessage {
  const kind = (message as { readonly zin?: unknown } | null)?.zin
  return kind === 'started' || kind === 'wrote'
}
