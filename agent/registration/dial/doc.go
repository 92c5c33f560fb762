// Package dial serializes the opening of connections to one host.
//
// A transport of net/http dials for every request that finds no idle connection, and learns only from the first
// answer which protocol a server speaks. So each of five concurrent requests opens its own connection, and four of
// them are closed again where one HTTP/2 connection carries all. All agents start that way at the same time whenever
// their hub was restarted: most of what a hub does in that minute is computing TLS handshakes for connections that
// nobody uses. Here a request waits while another one connects, and then shares its connection. A server that speaks
// only HTTP/1.1, such as some proxies, is still dialed once per request, but by one request at a time.
package dial
