/** What `sheaf/http` offers. */
export { type ConnectHttpOptions, connectHttp } from './client.js'
export type { Asked, AuthOptions, Authorize, JwtOptions, Principal } from './gate.js'
export type { Served } from './handling.js'
export type { Limits } from './limits.js'
export type { RequestRecord, ServeOptions } from './options.js'
export { type HttpServer, serve } from './server.js'
