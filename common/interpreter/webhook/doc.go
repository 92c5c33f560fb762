// Package webhook asks the webhooks of ResourceInterpreterWebhookConfigurations what
// objects mean.
//
// A question is one POST of a ResourceInterpreterContext. It takes no longer than the
// webhook's timeoutSeconds, 10 if absent; the answer has a bounded size, is checked
// before it is used, and redirects are not followed. After one that took too long all questions
// fail at once for a pause, from one second to thirty, and one more tells whether it is over. A Service is looked up by the reader
// that New is given: on the hub in its own API, on an agent in the member's.
package webhook
