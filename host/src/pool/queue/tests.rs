//! Turns and places, without threads.

use super::*;
use std::collections::VecDeque;

/// A queue whose tenants wait with so many calls each, in this order of arrival. No place is shared.
fn waiting(running: usize, tenants: &[(&str, usize)]) -> Queue {
    let limits = TenantLimits { running: 1, ..TenantLimits::default() };
    let config = PoolConfig { running, limits, ..PoolConfig::default() };
    let queue = Queue::new(config, Sandbox::shared().expect("a sandbox"));
    for &(name, calls) in tenants {
        let name = Arc::from(name);
        let mut state = queue.lock();
        state.most_running = running;
        for _ in 0..calls {
            let turn = Arc::new(Turn::new(Arc::clone(&name), None));
            queue.known(&mut state, &name).expect("known");
            state.list(&name, |waiting| waiting.push_back(turn));
        }
    }
    queue
}

/// The next calls that are admitted when one has ended, or none runs yet.
fn admit(queue: &Queue) -> Vec<Arc<Turn>> {
    queue.lock().admit_next(true)
}

fn names(turns: &[Arc<Turn>]) -> String {
    turns.iter().map(|turn| &*turn.tenant).collect()
}

#[test]
fn tenants_take_turns_whatever_the_number_of_their_calls() {
    let queue = waiting(1, &[("a", 100), ("b", 2), ("c", 1)]);
    let mut order = String::new();
    for _ in 0..6 {
        let admitted = admit(&queue);
        order += &names(&admitted);
        admitted.iter().for_each(|turn| queue.lock().stop_running(turn, Duration::ZERO));
    }
    assert_eq!(order, "abcaba");
}

#[test]
fn a_tenant_that_runs_all_it_may_is_passed_over_and_not_forgotten() {
    let queue = waiting(3, &[("a", 3), ("b", 2)]);
    let first = admit(&queue);
    assert_eq!(names(&first), "ab", "each may run one");
    assert_eq!(admit(&queue).len(), 0);
    queue.lock().stop_running(&first[0], Duration::ZERO);
    let second = admit(&queue);
    assert_eq!(names(&second), "a");
    queue.lock().stop_running(&first[1], Duration::ZERO);
    assert_eq!(names(&admit(&queue)), "b");
    queue.lock().stop_running(&second[0], Duration::ZERO);
    assert_eq!(names(&admit(&queue)), "a");
    assert!(queue.lock().ring.is_empty());
}

#[test]
fn only_the_call_of_a_much_heavier_tenant_gives_its_place() {
    let queue = waiting(2, &[("heavy", 1), ("light", 1), ("new", 1)]);
    let running = admit(&queue);
    let mut state = queue.lock();
    let now = Instant::now();
    assert!(!state.take_place(&"new".into(), now), "both have just begun");
    state.tenants.get_mut("heavy").expect("known").load.add(Duration::from_millis(50), now);
    assert!(!state.take_place(&"heavy".into(), now), "not to itself, and not the lighter one");
    assert!(state.take_place(&"new".into(), now));
    assert_eq!([running[0].gives_way(), running[1].gives_way()], [true, false]);
    assert_eq!((state.running.len(), state.leaving.len()), (1, 1));
    assert!(!state.take_place(&"new".into(), now), "once is enough");
    state.stop_running(&running[0], Duration::ZERO);
    assert_eq!((state.running.len(), state.leaving.len()), (1, 0));
    assert_eq!(state.tenants["heavy"].running, 0);
}

#[test]
fn what_becomes_heavy_while_another_waits_gives_its_place_at_a_tick() {
    let queue = waiting(1, &[("heavy", 1), ("new", 2)]);
    let running = admit(&queue);
    assert_eq!(names(&running), "heavy");
    // It is not heavier than by 2 ms yet.
    assert!(queue.lock().take_places(Instant::now() - Duration::from_secs(1)).is_empty());
    thread::sleep(Duration::from_millis(5));
    queue.look(&running[0]);
    assert!(running[0].gives_way());
    let state = queue.lock();
    assert_eq!((state.running.len(), state.leaving.len(), state.tenants["new"].running), (1, 1, 1));
    assert_eq!((state.tenants["new"].waiting.len(), state.ring.len()), (1, 1));
}

#[test]
fn no_place_is_taken_while_too_many_calls_stand_still() {
    let queue = waiting(1, &[("heavy", 1), ("new", 1)]);
    let running = admit(&queue);
    let mut state = queue.lock();
    state.tenants.get_mut("heavy").expect("known").load.add(Duration::from_secs(1), Instant::now());
    state.most_standing = 1;
    state.standing = 1;
    assert!(state.take_places(Instant::now()).is_empty());
    assert!(!running[0].gives_way());
    state.standing = 0;
    assert_eq!(names(&state.take_places(Instant::now())), "new");
}

/// A running call stands still and waits.
fn stand_still(state: &mut State, turn: &Arc<Turn>) {
    turn.suspend();
    state.stop_running(turn, Duration::ZERO);
    state.list(&turn.tenant, |waiting| waiting.push_front(Arc::clone(turn)));
}

#[test]
fn as_many_long_calls_run_as_there_are_places_and_short_ones_beside_them() {
    let queue = waiting(1, &[("a", 1), ("b", 1), ("c", 1)]);
    queue.lock().most_running = 2;
    let running = admit(&queue);
    assert_eq!(names(&running), "ab", "two share the place, the third waits");
    let mut state = queue.lock();
    let begin = Instant::now() - Duration::from_secs(1);
    running.iter().for_each(|turn| state.clear_places(turn, begin));
    assert!(!running.iter().any(|turn| turn.gives_way()), "both are short");
    let later = Instant::now() + Duration::from_millis(5);
    state.tenants.get_mut("b").expect("known").load.add(Duration::from_millis(1), later);
    running.iter().for_each(|turn| state.clear_places(turn, later));
    assert_eq!([running[0].gives_way(), running[1].gives_way()], [false, true], "one long call goes on");
    stand_still(&mut state, &running[1]);
    let short = state.admit_next(false);
    assert_eq!(names(&short), "c", "b is long, as a is");
    state.stop_running(&short[0], Duration::ZERO);
    assert_eq!(state.admit_next(true).len(), 0, "a is still there");
    state.stop_running(&running[0], Duration::ZERO);
    assert_eq!(names(&state.admit_next(true)), "b");
}

#[test]
fn a_call_that_gave_its_place_goes_on_beside_short_ones_when_another_has_ended() {
    let queue = waiting(1, &[("heavy", 1), ("light", 1), ("new", 1)]);
    queue.lock().most_running = 4;
    let running = admit(&queue);
    assert_eq!(running.len(), 3);
    let mut state = queue.lock();
    stand_still(&mut state, &running[0]);
    assert_eq!(state.admit_next(false).len(), 0, "not at once");
    state.stop_running(&running[1], Duration::ZERO);
    assert_eq!(names(&state.admit_next(true)), "heavy");
}

/// Such a call was once passed over for good, whenever more tenants called than there are places.
#[test]
fn a_long_call_gets_its_turn_beside_short_calls_without_end() {
    let tenants: Vec<String> = (0..64).map(|tenant| tenant.to_string()).collect();
    let short: Vec<(&str, usize)> = tenants.iter().map(|name| (name.as_str(), 1)).collect();
    let queue = waiting(2, &short);
    queue.lock().most_running = 8;
    let mut running = VecDeque::from(admit(&queue));
    assert_eq!(running.len(), 8);
    let mut state = queue.lock();
    let long = Arc::new(Turn::new("long".into(), None));
    queue.known(&mut state, &long.tenant).expect("known");
    long.suspend();
    state.list(&long.tenant, |waiting| waiting.push_back(Arc::clone(&long)));
    let mut ended = 0;
    while !long.is_admitted() {
        // Each tenant calls again at once.
        let call = running.pop_front().expect("eight run");
        state.stop_running(&call, Duration::ZERO);
        let again = Arc::new(Turn::new(Arc::clone(&call.tenant), None));
        state.list(&call.tenant, |waiting| waiting.push_back(again));
        running.extend(state.admit_next(true));
        ended += 1;
        assert!(ended <= tenants.len(), "every other tenant had a turn");
    }
    assert_eq!(state.running.len(), 8);
    state.clear_places(&long, Instant::now());
    assert!(!long.gives_way(), "it has one of the two places for long calls");
}
