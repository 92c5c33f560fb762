// Package hostile attacks a hub's API with credentials that may be stolen or given away: an agent's certificate, a join
// token, the rights of a tenant of one namespace, and none at all.
//
// Each attack is a row of a table: a request, and why it must not work. To add one, add a row to the attacker's table:
// the runner sends the request and checks that it is refused and that its target did not change. The requests that each
// attacker may send are listed as well, and must work. All tests use one hub, on one API.
package hostile
