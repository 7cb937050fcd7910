/** A promise with a function that resolves it. */
export function signal<T = void>(): { readonly promise: Promise<T>; fire(value: T): void } {
  let fire: (value: T) => void = () => undefined
  const promise = new Promise<T>((resolve) => {
    fire = resolve
  })
  return { promise, fire: (value) => fire(value) }
}
