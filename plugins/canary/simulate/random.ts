import { logGamma } from 'zin/plugins/statistics'

/** A seeded random number generator. */
export class Random {
  #a: number
  #b = 0x9e3779b9
  #c = 0x243f6a88
  #d = 1

  constructor(seed: number) {
    this.#a = seed | 0
    for (let i = 0; i < 16; i++) this.next()
  }

  /** Uniform in [0, 1): sfc32. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return (sum >>> 0) / 2 ** 32
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  /** Poisson: products of uniforms below a mean of 20, Hörmann's PTRS from there on. */
  poisson(mean: number): number {
    if (mean >= 20) return this.#poissonByRejection(mean)
    const limit = Math.exp(-mean)
    let count = 0
    for (let product = this.next(); product > limit; product *= this.next()) count++
    return count
  }

  #poissonByRejection(mean: number): number {
    const b = 0.931 + 2.53 * Math.sqrt(mean)
    const a = -0.059 + 0.02483 * b
    const alpha = 1.1239 + 1.1328 / (b - 3.4)
    const accepted = 0.9277 - 3.6224 / (b - 2)
    for (;;) {
      const u = this.next() - 0.5
      const v = this.next()
      const us = 0.5 - Math.abs(u)
      const k = Math.floor(((2 * a) / us + b) * u + mean + 0.43)
      if (us >= 0.07 && v <= accepted) return k
      if (k < 0 || (us < 0.013 && v > us)) continue
      if (Math.log((v * alpha) / (a / (us * us) + b)) <= k * Math.log(mean) - mean - logGamma(k + 1)) return k
    }
  }

  /** Standard normal, by Box and Muller. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }
}
