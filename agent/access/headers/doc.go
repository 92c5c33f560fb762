// Package headers says which headers of a request may reach the API of a member, and which of its answer may go back.
// A request is the operator's word, and an answer the member's: neither may speak for the hub or for the agent. It is
// pure.
package headers
