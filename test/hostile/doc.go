// Package hostile attacks a hub's API with what may be stolen or given away: the certificate of
// an agent, a join token, the rights of a tenant of one namespace, and nothing at all.
//
// Each attack is a row of a table: a request, and why it must not work. To add one, add a row to
// the table of whoever attacks: the runner makes the request and holds that it is refused, and that
// what it aimed at is as it was. What each of them may do is listed too, and works. All tests use
// one hub, on one API.
package hostile
