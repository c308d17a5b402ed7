# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Slow forms of the fast operations, written as loops close to the formulas, which the fast ones are tested against."""

import torch


def context_discounted_cross_entropy_reference(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    context_discount: float,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """The loss of `hier_nmt.losses`, token by token (Lupo et al. 2022, section 3.1).

    Args:
        logits: [B, T, V].
        labels: [B, T], -100 where ignored.
        label_sentence_ids: [B, T].
        context_discount, label_smoothing: as there.
    """
    context, current, num_tokens = logits.new_zeros(()), logits.new_zeros(()), 0
    for row_logits, row_labels, row_ids in zip(logits, labels, label_sentence_ids, strict=True):
        positions = [position for position, label in enumerate(row_labels.tolist()) if label != -100]
        last_sentence = max((int(row_ids[position]) for position in positions), default=0)
        for position in positions:
            log_probabilities = row_logits[position] - row_logits[position].exp().sum().log()
            likely = log_probabilities[row_labels[position]]
            loss = -((1 - label_smoothing) * likely + label_smoothing * log_probabilities.mean())
            if row_ids[position] == last_sentence:
                current = current + loss
            else:
                context = context + loss
            num_tokens += 1
    return (context_discount * context + current) / num_tokens


def attention_reference(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, may_look: torch.Tensor, scaling: float
) -> torch.Tensor:
    """Masked attention, query by query (Vaswani et al. 2017, section 3.2.1): outputs [B, H, Q, E].

    Args:
        query: [B, H, Q, E].
        key, value: [B, H, K, E].
        may_look: boolean [B, Q, K]; a query that may look at nothing gets zeros.
        scaling: factor on the logits.
    """
    output = torch.zeros_like(query)
    batch_size, num_heads, num_queries, _ = query.shape
    for row in range(batch_size):
        for head in range(num_heads):
            for position in range(num_queries):
                seen = [index for index, visible in enumerate(may_look[row, position].tolist()) if visible]
                if not seen:
                    continue
                logits = [scaling * (query[row, head, position] * key[row, head, index]).sum() for index in seen]
                weights = torch.stack(logits).exp()
                weights = weights / weights.sum()
                values = [weight * value[row, head, index] for weight, index in zip(weights, seen, strict=True)]
                output[row, head, position] = torch.stack(values).sum(0)
    return output


def may_look_reference(
    scope: str, query_ids: torch.Tensor, key_ids: torch.Tensor, is_causal: bool = False
) -> torch.Tensor:
    """Which key a query may look at, pair by pair (Trankova et al. 2024, Table 1): boolean [B, Q, K].

    Args:
        scope: `document` or `sentence`.
        query_ids: sentence numbers of the queries [B, Q]; in cross-attention, of the sentences they write.
        key_ids: sentence numbers of the keys [B, K], 0 on padding.
        is_causal: the queries are the last Q keys, and none may look at a later one.
    """
    may_look = torch.zeros(*query_ids.shape, key_ids.shape[1], dtype=torch.bool)
    num_earlier = key_ids.shape[1] - query_ids.shape[1] if is_causal else 0
    for row in range(query_ids.shape[0]):
        for query, query_id in enumerate(query_ids[row].tolist()):
            for key, key_id in enumerate(key_ids[row].tolist()):
                is_later = is_causal and key > query + num_earlier
                in_scope = scope == "document" or query_id == key_id
                may_look[row, query, key] = key_id > 0 and in_scope and not is_later
    return may_look
