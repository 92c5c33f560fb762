// Package webhook asks the webhooks of ResourceInterpreterWebhookConfigurations about objects.
//
// A question is one POST of a ResourceInterpreterContext, bounded by the webhook's timeoutSeconds, 10 by default; the
// answer is bounded in size and validated, and redirects are not followed. After a timeout all questions fail
// immediately for a pause, from one second to thirty, and one question then probes whether the webhook is back.
// Services are looked up with the reader given to New: on the hub in its own API, on an agent in the member's.
package webhook
