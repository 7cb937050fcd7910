import { describeEdgeProxy } from './edge-proxy.contract.js'
import { proxies } from './testing/proxies.js'

describeEdgeProxy('Node', proxies('node'))
