import { describeEdgeProxy } from './edge-proxy.contract.js'
import { proxies } from './testing/proxies.js'

describeEdgeProxy('workerd', proxies('workerd'))
