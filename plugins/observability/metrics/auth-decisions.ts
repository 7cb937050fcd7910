import type { MetricSample } from 'zin'
import type { AuthDecision } from 'zin/plugins/bulletproof'
import { SeriesCounter } from './series.js'

/** Counts decisions about signed requests by the layer that decided. */
export class AuthDecisionMetrics {
  readonly #decisions = new SeriesCounter({
    name: 'zin_auth_decisions_total',
    help: 'Decisions about signed requests, by outcome and by the layer that refused',
    labels: ['outcome', 'layer'],
  })

  readonly decided = ({ layer, outcome }: AuthDecision): void => {
    this.#decisions.add([outcome, layer === undefined ? 'none' : String(layer)])
  }

  samples(): readonly MetricSample[] {
    return this.#decisions.samples()
  }
}
