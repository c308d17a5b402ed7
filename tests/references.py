# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Slow forms of the fast operations, written as loops close to the formulas, which the fast ones are tested against."""

import math

import independent_model
import torch


def context_discounted_cross_entropy_reference(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    context_discount: float,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """The loss of `hier_nmt.training.losses`, token by token (Lupo et al. 2022, section 3.1).

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


def contrast_loss_reference(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    context_discount: float,
    word_pairs: list[tuple[int, int]],
    weight: float,
    margin: float,
    margin_weight: float,
) -> torch.Tensor:
    """The loss of `hier_nmt.training.losses` with words that the context decides, token by token.

    Args:
        logits: [B, T, V].
        labels: [B, T], -100 where ignored.
        label_sentence_ids: [B, T].
        context_discount: weight of the sentences before the last.
        word_pairs: tokens and their counterparts, each pair once.
        weight: factor on the cross-entropy of these tokens after the first sentence.
        margin, margin_weight: of the hinge on the difference of their log-probabilities; margin 0: no hinge.
    """
    total, num_tokens = logits.new_zeros(()), 0
    for row_logits, row_labels, row_ids in zip(logits, labels, label_sentence_ids, strict=True):
        positions = [position for position, label in enumerate(row_labels.tolist()) if label != -100]
        last_sentence = max((int(row_ids[position]) for position in positions), default=0)
        for position in positions:
            label = int(row_labels[position])
            log_probabilities = row_logits[position] - row_logits[position].exp().sum().log()
            discount = 1.0 if row_ids[position] == last_sentence else context_discount
            others = [pair[1 - pair.index(label)] for pair in word_pairs if label in pair]
            is_decided = bool(others) and int(row_ids[position]) > 1
            loss = -log_probabilities[label] * (weight if is_decided else 1.0)
            for other in others if is_decided else []:
                lacking = margin - (log_probabilities[label] - log_probabilities[other])
                if margin > 0 and lacking > 0:
                    loss = loss + margin_weight * lacking
            total = total + discount * loss
            num_tokens += 1
    return total / num_tokens


def attention_reference(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attend_mask: torch.Tensor, scaling: float
) -> torch.Tensor:
    """Masked attention, query by query (Vaswani et al. 2017, section 3.2.1): outputs [B, H, Q, E].

    Args:
        query: [B, H, Q, E].
        key, value: [B, H, K, E].
        attend_mask: boolean [B, Q, K]; a query that may look at nothing gets zeros.
        scaling: factor on the logits.
    """
    output = torch.zeros_like(query)
    batch_size, num_heads, num_queries, _ = query.shape
    for row in range(batch_size):
        for head in range(num_heads):
            for position in range(num_queries):
                seen = [index for index, visible in enumerate(attend_mask[row, position].tolist()) if visible]
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
        query_ids: sentence ids of the queries [B, Q]; in cross-attention, of the sentences they write.
        key_ids: sentence ids of the keys [B, K], 0 on padding.
        is_causal: the queries are the last Q keys, and none may look at a later one.
    """
    attend_mask = torch.zeros(*query_ids.shape, key_ids.shape[1], dtype=torch.bool)
    num_earlier = key_ids.shape[1] - query_ids.shape[1] if is_causal else 0
    for row in range(query_ids.shape[0]):
        for query, query_id in enumerate(query_ids[row].tolist()):
            for key, key_id in enumerate(key_ids[row].tolist()):
                is_later = is_causal and key > query + num_earlier
                in_scope = scope == "document" or query_id == key_id
                attend_mask[row, query, key] = key_id > 0 and in_scope and not is_later
    return attend_mask


def source2token_reference(
    hidden_states: torch.Tensor,
    sentence_ids: torch.Tensor,
    num_sentences: int,
    query: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    output_weight: torch.Tensor,
) -> torch.Tensor:
    """`hier_nmt.attention.sentence_encoder.source2token`, sentence by sentence: [B, N, D].

    Args as there.
    """
    weights = {
        "encoder.query": query if query.ndim == 2 else query[None],
        "encoder.k_proj.weight": key_weight,
        "encoder.v_proj.weight": value_weight,
        "encoder.out_proj.weight": output_weight,
    }
    documents = []
    for states, numbers in zip(hidden_states, sentence_ids.tolist(), strict=True):
        encodings = []
        for number in range(1, num_sentences + 1):
            members = [state for state, own in zip(states, numbers, strict=True) if own == number]
            encoding = independent_model.source2token(weights, "encoder", members)
            encodings.append(hidden_states.new_zeros(hidden_states.shape[-1]) if encoding is None else encoding)
        documents.append(torch.stack(encodings))
    return torch.stack(documents)


def scores_by_sentence(indices: torch.Tensor, scores: torch.Tensor, num_sentences: int) -> torch.Tensor:
    """The scores [..., N] of all sentences that a choice [..., t] stands for, minus infinity where it has none."""
    is_filled = scores > -torch.inf
    columns = indices.masked_fill(~is_filled, num_sentences)
    dense = scores.new_full((*scores.shape[:-1], num_sentences + 1), -torch.inf).scatter(-1, columns, scores)
    assert ((dense > -torch.inf).sum(-1) == is_filled.sum(-1)).all(), "a sentence is chosen twice"
    return dense[..., :num_sentences]


def stack_scores(scores: independent_model.Scores, like: torch.Tensor) -> torch.Tensor:
    """N scores as one tensor [N] of the type of `like`, where None becomes minus infinity."""
    entries = [like.new_tensor(-torch.inf) if score is None else torch.as_tensor(score).to(like) for score in scores]
    return torch.stack(entries)


def select_by_relevance_reference(
    sentence_query: torch.Tensor,
    sentence_key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None = None,
    num_choosable: torch.Tensor | None = None,
    query_sentence_ids: torch.Tensor | None = None,
    slope: float = 0.0,
) -> torch.Tensor:
    """`keep_top_t` of the relevance, query by query: [B, H, Q, N], minus infinity for sentences that are not kept.

    Args as in `hier_nmt.ops.sentence_selection.select_by_relevance`.
    """
    rows = []
    for row, head, position in positions(sentence_query):
        last = sentence_key.shape[2] if num_choosable is None else int(num_choosable[row, position])
        keys = [
            key if exists and index < last else None
            for index, (key, exists) in enumerate(zip(sentence_key[row, head], sentence_mask[row], strict=True))
        ]
        scores = independent_model.relevance(sentence_query[row, head, position], keys)
        own = None if own_sentence_ids is None else int(own_sentence_ids[row, position]) - 1
        place = 0 if query_sentence_ids is None else int(query_sentence_ids[row, position]) - 1
        ranked = independent_model.with_slope(scores, slope, place)
        kept = independent_model.best_indices(ranked, t, own)
        scores = [score if index in kept else None for index, score in enumerate(scores)]
        rows.append(stack_scores(scores, sentence_query))
    return torch.stack(rows).unflatten(0, sentence_query.shape[:3])


def positions(query: torch.Tensor) -> list[tuple[int, int, int]]:
    """All (row, head, position) of queries [B, H, Q, E]."""
    batch_size, num_heads, num_queries, _ = query.shape
    return [
        (row, head, position)
        for row in range(batch_size)
        for head in range(num_heads)
        for position in range(num_queries)
    ]


def traverse_tree_reference(
    query: torch.Tensor,
    node_keys: list[torch.Tensor],
    node_masks: list[torch.Tensor],
    t: int,
    selection: str = "cumulative",
    own_sentence_ids: torch.Tensor | None = None,
) -> torch.Tensor:
    """Scores [B, H, Q, N] of the sentences that the walk keeps, document by document, minus infinity elsewhere.

    Each document has a tree of its own, which ends where one node is left.

    Args as in `hier_nmt.ops.sentence_tree.traverse_tree`.
    """
    num_leaves = node_masks[0].shape[1]
    rows = []
    for row, head, position in positions(query):
        num_nodes = max(1 + index for index, exists in enumerate(node_masks[0][row].tolist()) if exists)
        levels = []
        for keys, mask in zip(node_keys, node_masks, strict=True):
            exists = mask[row].tolist()
            levels.append([keys[row, head, node] if exists[node] else None for node in range(num_nodes)])
            if num_nodes == 1:
                break
            num_nodes = (num_nodes + 1) // 2
        own = None if own_sentence_ids is None else int(own_sentence_ids[row, position]) - 1
        scores = independent_model.traverse_tree(query[row, head, position], levels, t, selection, own)
        rows.append(stack_scores([*scores, *[None] * (num_leaves - len(scores))], query))
    return torch.stack(rows).unflatten(0, query.shape[:3])


def selected_attention_reference(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_sentence_ids: torch.Tensor,
    sentence_indices: torch.Tensor,
    sentence_scores: torch.Tensor,
    own_sentence_ids: torch.Tensor | None = None,
    query_positions: torch.Tensor | None = None,
    scaling: float | None = None,
) -> torch.Tensor:
    """`hier_nmt.ops.selected_attention.attend_selected_sentences`, query by query: [B, H, Q, E].

    Args as there.
    """
    factor = 1.0 if scaling is None else scaling * math.sqrt(query.shape[-1])
    rows = []
    for row, head, position in positions(query):
        place = (row, head, position)
        added = {0 if own_sentence_ids is None else int(own_sentence_ids[row, position]): query.new_zeros(())}
        for index, score in zip(sentence_indices[place].tolist(), sentence_scores[place], strict=True):
            if score > -torch.inf:
                added[index + 1] = score
        last = key.shape[2] - 1 if query_positions is None else int(query_positions[position])
        numbers = key_sentence_ids[row, : last + 1].tolist()
        read = [index for index, number in enumerate(numbers) if number > 0 and number in added]
        rows.append(
            independent_model.attend(
                query[place] * factor,
                [key[row, head, index] for index in read],
                [value[row, head, index] for index in read],
                [added[numbers[index]] for index in read],
            )
        )
    return torch.stack(rows).unflatten(0, query.shape[:3])
